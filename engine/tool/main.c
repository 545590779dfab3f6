// halley: the engine without a JVM. `halley help` says what it does.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "expr/registry.h"
#include "halley/halley.h"
#include "memory/pool.h"
#include "parquet/describe.h"
#include "plan/message.h"
#include "tool/host.h"
#include "tool/print.h"

static const char usage[] =
    "usage: halley run PLAN [--task FILE] [--time] [--count] [--threads 1] [--memory BYTES] [--repeat N]\n"
    "           runs a plan that spark.comet.debug.savePlan.dir had saved and prints its rows;\n"
    "           --task   a TaskInput in a file of its own (PLAN is then a Stage)\n"
    "           --count  prints the number of rows only; --time adds wall time, metrics and peak memory\n"
    "       halley parquet FILE\n"
    "           schema, row groups, encodings, pages and statistics of a Parquet file\n"
    "       halley registry --json\n"
    "           what the engine can evaluate and run\n"
    "       halley version\n";

static int fail(const char *what, const hly_error *error) {
  char text[HLY_ERROR_TEXT + 256];
  hly_error_print(error, text, sizeof text);
  fprintf(stderr, "halley: %s: %s\n", what, text);
  return 1;
}

// A whole file, to be freed with hly_free; NULL with a message on stderr.
static uint8_t *read_file(const char *path, size_t *n) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0) {
    fprintf(stderr, "halley: %s: %s\n", path, strerror(errno));
    if (fd >= 0) close(fd);
    return NULL;
  }
  size_t size = (size_t)st.st_size, at = 0;
  uint8_t *bytes = hly_malloc(size + 1);
  while (bytes && at < size) {
    ssize_t got = read(fd, bytes + at, size - at);
    if (got <= 0) break;
    at += (size_t)got;
  }
  close(fd);
  if (bytes && at == size) {
    *n = size;
    return bytes;
  }
  fprintf(stderr, "halley: %s cannot be read\n", path);
  hly_free(bytes);
  return NULL;
}

typedef struct run_options {
  const char *plan, *task;
  bool time, count;
  int64_t memory;
  int repeat;
} run_options;

typedef struct run_input {
  uint8_t *stage, *task; // serialized
  size_t n_stage, n_task;
  const Halley__Stage *message;
} run_input;

static void print_metrics(FILE *out, hly_plan *plan, const Halley__Plan *node, int depth) {
  int64_t slots[HALLEY__METRIC__N_METRICS];
  if (hly_plan_metrics(plan, node->id, slots, HALLEY__METRIC__N_METRICS)) {
    const ProtobufCFieldDescriptor *fields = halley__plan__descriptor.fields;
    const char *name = "?";
    for (unsigned i = 0; i < halley__plan__descriptor.n_fields; i++)
      if (fields[i].id == (unsigned)node->op_case) name = fields[i].name;
    fprintf(out, "%*s%d %s:", 2 * depth, "", node->id, name);
    for (int i = 0; i < HALLEY__METRIC__N_METRICS; i++) {
      if (!slots[i]) continue;
      const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(&halley__metric__descriptor, i);
      fprintf(out, " %s=%" PRId64, value ? value->name : "?", slots[i]);
    }
    putc('\n', out);
  }
  for (size_t i = 0; i < node->n_inputs; i++) print_metrics(out, plan, node->inputs[i], depth + 1);
}

// Pulls everything; the rows are printed unless only their number is wanted.
static hly_status drain(hly_plan *plan, const run_input *in, bool print, uint64_t *n_rows) {
  const Halley__Plan *root = in->message->root;
  if (root->op_case == HALLEY__PLAN__OP_SHUFFLE_WRITE) {
    char path[4096];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/halley-shuffle-%d", dir && *dir ? dir : "/tmp", (int)getpid());
    const int64_t *lengths;
    uint32_t n;
    HLY_TRY(hly_plan_write(plan, path, &lengths, &n));
    for (uint32_t i = 0; print && i < n; i++) printf("partition %u\t%" PRId64 " bytes\n", i, lengths[i]);
    unlink(path);
    return HLY_OK;
  }
  for (;;) {
    const hly_export_batch *batch;
    HLY_TRY(hly_plan_next(plan, &batch));
    if (!batch) return HLY_OK;
    *n_rows += batch->n_rows;
    if (print) tool_print_batch(stdout, batch, root->output, root->n_output);
  }
}

static int run_once(const run_options *options, const run_input *in, bool print) {
  tool_host host;
  tool_host_init(&host, options->memory);
  hly_pool *pool = hly_pool_create(&host.host);
  hly_error error = {0};
  if (!pool) return fail(options->plan, (hly_error_nomem(&error, 1024), &error));
  int64_t start = hly_now_ns();
  hly_plan *plan = NULL;
  hly_status st =
      hly_plan_open(in->stage, in->n_stage, in->task, in->n_task, &host.host, pool, &error, &plan);
  uint64_t n_rows = 0;
  if (st == HLY_OK) {
    st = drain(plan, in, print, &n_rows);
    error = *hly_plan_error(plan);
  }
  double ms = (double)(hly_now_ns() - start) / 1e6;
  if (st != HLY_OK) {
    fail(options->plan, &error);
  } else {
    if (options->count) printf("%" PRIu64 " rows\n", n_rows);
    if (options->time) {
      struct rusage used;
      getrusage(RUSAGE_SELF, &used);
      fprintf(stderr, "%" PRIu64 " rows in %.3f ms; peak %" PRId64 " bytes tracked, %ld KiB resident\n",
              n_rows, ms, hly_mem_peak(), used.ru_maxrss);
      print_metrics(stderr, plan, in->message->root, 1);
    }
  }
  hly_plan_close(plan);
  int64_t left = hly_pool_destroy(pool);
  if (left) {
    fprintf(stderr, "halley: %" PRId64 " bytes are still reserved\n", left);
    return 1;
  }
  return st == HLY_OK ? 0 : 1;
}

// Splits a saved plan into its two messages, or takes them from two files.
static int load(const run_options *options, hly_arena *arena, run_input *in) {
  hly_error error = {0};
  size_t n;
  uint8_t *bytes = read_file(options->plan, &n);
  if (!bytes) return 1;
  Halley__SavedPlan *saved = NULL;
  Halley__Stage *stage = NULL;
  hly_status st;
  if (options->task) {
    in->stage = bytes;
    in->n_stage = n;
    in->task = read_file(options->task, &in->n_task);
    if (!in->task) return 1;
    st = hly_message_unpack(&error, arena, &halley__stage__descriptor, bytes, n, &stage);
  } else {
    st = hly_message_unpack(&error, arena, &halley__saved_plan__descriptor, bytes, n, &saved);
    hly_free(bytes);
    if (st == HLY_OK) stage = saved->stage;
  }
  if (st == HLY_OK && (!stage || !stage->root))
    st = hly_error_setf(&error, HLY_E_PLAN_INVALID, "there is no plan in the file");
  if (st != HLY_OK) return fail(options->plan, &error);
  in->message = stage;
  if (saved) {
    Halley__TaskInput none = HALLEY__TASK_INPUT__INIT;
    const Halley__TaskInput *task = saved->task ? saved->task : &none;
    in->n_stage = halley__stage__get_packed_size(stage);
    in->n_task = halley__task_input__get_packed_size(task);
    in->stage = hly_malloc(in->n_stage + 1);
    in->task = hly_malloc(in->n_task + 1);
    if (!in->stage || !in->task)
      return fail(options->plan, (hly_error_nomem(&error, (int64_t)in->n_stage), &error));
    halley__stage__pack(stage, in->stage);
    halley__task_input__pack(task, in->task);
  }
  return 0;
}

static int command_run(int argc, char **argv) {
  run_options options = {.memory = -1, .repeat = 1};
  for (int i = 0; i < argc; i++) {
    bool more = i + 1 < argc;
    if (!strcmp(argv[i], "--task") && more)
      options.task = argv[++i];
    else if (!strcmp(argv[i], "--time"))
      options.time = true;
    else if (!strcmp(argv[i], "--count"))
      options.count = true;
    else if (!strcmp(argv[i], "--memory") && more)
      options.memory = strtoll(argv[++i], NULL, 10);
    else if (!strcmp(argv[i], "--repeat") && more)
      options.repeat = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--threads") && more) {
      if (strcmp(argv[++i], "1") != 0) {
        fputs("halley: a task is one thread\n", stderr);
        return 2;
      }
    } else if (argv[i][0] != '-' && !options.plan)
      options.plan = argv[i];
    else {
      fputs(usage, stderr);
      return 2;
    }
  }
  if (!options.plan) {
    fputs(usage, stderr);
    return 2;
  }
  hly_arena *arena = hly_arena_create();
  run_input in = {0};
  int rc = arena ? load(&options, arena, &in) : 1;
  for (int i = 0; rc == 0 && i < options.repeat; i++) rc = run_once(&options, &in, !options.count);
  hly_free(in.stage);
  hly_free(in.task);
  hly_arena_destroy(arena);
  return rc;
}

static int command_registry(void) {
  hly_ctx ctx = {0};
  char *json = NULL;
  size_t n_bytes = 0, capacity = 0;
  hly_status st = hly_registry_json(&ctx, &json, &n_bytes, &capacity);
  if (st == HLY_OK) {
    fwrite(json, 1, n_bytes, stdout);
    putchar('\n');
  }
  hly_free(json);
  return st == HLY_OK ? 0 : fail("registry", &ctx.error);
}

static int command_parquet(const char *path) {
  hly_ctx ctx = {0};
  return hly_parquet_describe(&ctx, path, stdout) == HLY_OK ? 0 : fail(path, &ctx.error);
}

int main(int argc, char **argv) {
  const char *command = argc > 1 ? argv[1] : "help";
  int rc;
  if (!strcmp(command, "run"))
    rc = command_run(argc - 2, argv + 2);
  else if (!strcmp(command, "parquet") && argc == 3)
    rc = command_parquet(argv[2]);
  else if (!strcmp(command, "registry") && argc == 3 && !strcmp(argv[2], "--json"))
    rc = command_registry();
  else if (!strcmp(command, "version")) {
    puts(hly_version());
    rc = 0;
  } else {
    bool help = !strcmp(command, "help") || !strcmp(command, "--help");
    fputs(usage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  if (fflush(stdout) != 0) rc = 1;
  return rc;
}
