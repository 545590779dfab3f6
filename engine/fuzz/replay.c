// Runs a fuzz target over the files of its corpus without a fuzzing engine, so that every build replays it.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return -1;
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  uint8_t *data = malloc(n > 0 ? (size_t)n : 1);
  if (!data || fread(data, 1, (size_t)n, f) != (size_t)n) {
    fclose(f);
    free(data);
    return -1;
  }
  fclose(f);
  LLVMFuzzerTestOneInput(data, (size_t)n);
  free(data);
  return 0;
}

int main(int argc, char **argv) {
  int n_files = 0;
  for (int i = 1; i < argc; i++) {
    DIR *dir = opendir(argv[i]);
    if (!dir) {
      fprintf(stderr, "no corpus folder %s\n", argv[i]);
      return 1;
    }
    for (struct dirent *e; (e = readdir(dir));) {
      if (e->d_name[0] == '.') continue;
      char path[4096];
      snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
      if (replay(path) != 0) {
        fprintf(stderr, "cannot read %s\n", path);
        closedir(dir);
        return 1;
      }
      n_files++;
    }
    closedir(dir);
  }
  printf("replayed %d inputs\n", n_files);
  return n_files > 0 ? 0 : 1;
}
