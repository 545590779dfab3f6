// bench_scan FILE [COLUMN...]: decodes columns of a Parquet file (default: each top-level column by itself)
// and prints what a value costs.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "memory/pool.h"
#include "parquet/reader.h"

static const hly_type *natural_type(const hly_pq_element *e) {
  const hly_pq_annotation *a = &e->annotation;
  if (a->kind == HLY_PQ_DECIMAL) return hly_type_decimal(a->precision, a->scale);
  switch (e->type) {
  case HLY_PQ_BOOLEAN: return hly_type_of(HLY_BOOLEAN);
  case HLY_PQ_INT32: return hly_type_of(a->kind == HLY_PQ_DATE ? HLY_DATE : HLY_INT);
  case HLY_PQ_INT64:
    return hly_type_of(a->kind == HLY_PQ_TIMESTAMP && a->unit != HLY_PQ_NANOS ? HLY_TIMESTAMP : HLY_LONG);
  case HLY_PQ_INT96: return hly_type_of(HLY_TIMESTAMP);
  case HLY_PQ_FLOAT: return hly_type_of(HLY_FLOAT);
  case HLY_PQ_DOUBLE: return hly_type_of(HLY_DOUBLE);
  case HLY_PQ_BYTE_ARRAY: return hly_type_of(a->kind == HLY_PQ_STRING ? HLY_STRING : HLY_BINARY);
  default: return hly_type_of(HLY_BINARY);
  }
}

// Processor time: other work on the machine does not count.
static int64_t cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static hly_status run(hly_ctx *ctx, const char *path, const hly_pq_request *request, const char *label) {
  hly_file *file;
  hly_pq_reader *r;
  HLY_TRY(hly_file_open(ctx, path, true, 0, &file));
  HLY_TRY(hly_pq_reader_open(ctx, file, request, 0, -1, &r));
  int64_t start = cpu_ns(), rows = 0;
  hly_vector *v[64];
  uint64_t dict = 0, batches = 0;
  for (uint32_t i = 0; i < request->n_fields; i++) v[i] = hly_vector_create(request->fields[i].type);
  for (bool more = true;;) {
    HLY_TRY(hly_pq_reader_next_group(r, NULL, &more));
    if (!more) break;
    while (r->rows_left > 0) {
      uint32_t n = r->rows_left < 8192 ? (uint32_t)r->rows_left : 8192;
      for (uint32_t i = 0; i < request->n_fields; i++) {
        HLY_TRY(hly_pq_reader_read(r, i, n, v[i]));
        dict += v[i]->encoding == HLY_DICT;
        batches++;
      }
      r->rows_left -= n;
      rows += n;
    }
  }
  int64_t ns = cpu_ns() - start;
  printf("%-20s %10lld rows %8.1f ms %6.2f ns a row, of it read %.2f, decode %.2f; %3.0f%% dictionaries; "
         "%.1f MB\n",
         label, (long long)rows, (double)ns / 1e6, (double)ns / (double)rows,
         (double)file->read_ns / (double)rows, (double)hly_pq_reader_decode_ns(r) / (double)rows,
         100.0 * (double)dict / (double)batches, (double)file->bytes_read / 1e6);
  for (uint32_t i = 0; i < request->n_fields; i++) hly_vector_unref(v[i]);
  hly_pq_reader_close(r);
  return HLY_OK;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: bench_scan FILE [COLUMN...]\n");
    return 2;
  }
  hly_ctx ctx = {.batch_rows = 8192};
  hly_arena *arena = hly_arena_create();
  hly_file *file;
  hly_pq_metadata *m;
  hly_status st = hly_file_open(&ctx, argv[1], true, 0, &file);
  if (st == HLY_OK) st = hly_pq_footer_read(file, arena, &m);
  hly_field fields[64];
  uint32_t n = 0;
  for (uint32_t i = 1; st == HLY_OK && i < m->n_elements && n < 64; i = hly_pq_schema_next(m, i)) {
    const hly_pq_element *e = &m->elements[i];
    bool wanted = argc == 2;
    for (int k = 2; k < argc; k++) wanted |= strcmp(argv[k], e->name) == 0;
    if (wanted && !e->is_group && e->max_rep == 0)
      fields[n++] = (hly_field){.name = e->name, .type = natural_type(e), .nullable = true};
  }
  for (int round = 0; round < 3 && st == HLY_OK; round++) {
    if (argc > 2) {
      hly_pq_request request = {.fields = fields, .n_fields = n, .case_sensitive = true};
      st = run(&ctx, argv[1], &request, "all");
    } else {
      for (uint32_t i = 0; i < n && st == HLY_OK; i++) {
        hly_pq_request request = {.fields = &fields[i], .n_fields = 1, .case_sensitive = true};
        if (round == 2) st = run(&ctx, argv[1], &request, fields[i].name);
      }
    }
  }
  if (st != HLY_OK) {
    char text[512];
    hly_error_print(&ctx.error, text, sizeof text);
    fprintf(stderr, "%s\n", text);
  }
  hly_file_close(file);
  hly_arena_destroy(arena);
  return st != HLY_OK;
}
