// A whole file from memory through the reader: every top-level column in the type it would have in Spark,
// read in uneven steps with some rows selected. Anything may be an error; nothing may be worse.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parquet/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const hly_type *type_of(const hly_pq_element *e, uint32_t variant) {
  const hly_pq_annotation *a = &e->annotation;
  if (a->kind == HLY_PQ_DECIMAL) return hly_type_decimal(variant ? 38 : a->precision, a->scale);
  switch (e->type) {
  case HLY_PQ_BOOLEAN: return hly_type_of(HLY_BOOLEAN);
  case HLY_PQ_INT32: return hly_type_of(variant == 1 ? HLY_LONG : variant == 2 ? HLY_DATE : HLY_INT);
  case HLY_PQ_INT64: return hly_type_of(a->kind == HLY_PQ_TIMESTAMP ? HLY_TIMESTAMP : HLY_LONG);
  case HLY_PQ_INT96: return hly_type_of(HLY_TIMESTAMP);
  case HLY_PQ_FLOAT: return hly_type_of(variant == 1 ? HLY_DOUBLE : HLY_FLOAT);
  case HLY_PQ_DOUBLE: return hly_type_of(HLY_DOUBLE);
  case HLY_PQ_BYTE_ARRAY: return hly_type_of(variant ? HLY_BINARY : HLY_STRING);
  default: return hly_type_of(HLY_BINARY);
  }
}

enum { MOST_FIELDS = 64, MOST_STEPS = 400 };

static hly_status read_all(hly_pq_reader *r, hly_vector **vectors, uint32_t seed) {
  uint32_t sel[512], steps = 0;
  for (bool more;;) {
    HLY_TRY(hly_pq_reader_next_group(r, NULL, &more));
    if (!more) return HLY_OK;
    while (r->rows_left > 0 && steps++ < MOST_STEPS) {
      uint32_t n = seed % 500 + 1, mode = seed / 500 % 4, n_sel = 0;
      seed = seed * 1664525u + 1013904223u;
      if (n > r->rows_left) n = (uint32_t)r->rows_left;
      for (uint32_t i = 0; i < n; i++)
        if ((seed >> i % 29 & 3) == 0) sel[n_sel++] = i;
      for (uint32_t i = 0; i < r->request->n_fields; i++) {
        if (mode == 0)
          hly_pq_reader_skip(r, i, n);
        else if (mode == 1)
          HLY_TRY(hly_pq_reader_select(r, i, n, sel, n_sel, vectors[i]));
        else
          HLY_TRY(hly_pq_reader_read(r, i, n, vectors[i]));
        char message[128];
        // Unscaled decimals may have any number of digits: Spark takes them as they are.
        if (mode && !hly_vector_check(vectors[i], message, sizeof message) &&
            !strstr(message, "past its precision"))
          abort();
      }
      r->rows_left -= n;
    }
    if (steps >= MOST_STEPS) return HLY_OK; // a few bytes can stand for very many rows
  }
}

static hly_status run(hly_ctx *ctx, const uint8_t *data, size_t size, hly_arena *arena) {
  hly_file *file;
  hly_pq_metadata *m;
  HLY_TRY(hly_file_open_memory(ctx, "memory", data, size, &file));
  hly_status st = hly_pq_footer_read(file, arena, &m);
  if (st != HLY_OK) {
    hly_file_close(file);
    return st;
  }
  uint32_t seed = (uint32_t)size * 2654435761u, n = 0;
  hly_field fields[MOST_FIELDS];
  hly_vector *vectors[MOST_FIELDS] = {NULL};
  for (uint32_t i = 1; i < m->n_elements && n < MOST_FIELDS; i = hly_pq_schema_next(m, i)) {
    const hly_pq_element *e = &m->elements[i];
    if (e->is_group || e->max_rep) continue;
    const hly_type *type = type_of(e, (seed >> n % 16) % 3);
    if (type) fields[n++] = (hly_field){.name = e->name, .type = type, .nullable = true};
  }
  hly_pq_request request = {.fields = fields,
                            .n_fields = n,
                            .case_sensitive = size & 1,
                            .datetime_rebase = "LEGACY",
                            .int96_rebase = "LEGACY"};
  hly_pq_reader *r;
  st = hly_pq_reader_open(ctx, file, &request, 0, -1, &r);
  for (uint32_t i = 0; i < n && st == HLY_OK; i++) {
    vectors[i] = hly_vector_create(fields[i].type);
    if (!vectors[i]) st = HLY_NOMEM;
    // Columns that would be a type error are left out: the others are what is to be tested.
    if (st == HLY_OK && r->sources[i].element && !r->sources[i].legal) r->sources[i].element = NULL;
  }
  if (st == HLY_OK) st = read_all(r, vectors, seed);
  for (uint32_t i = 0; i < n; i++) hly_vector_unref(vectors[i]);
  hly_pq_reader_close(r);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hly_ctx ctx = {.batch_rows = 512};
  hly_arena *arena = hly_arena_create();
  hly_status st = arena ? run(&ctx, data, size, arena) : HLY_NOMEM;
  if (st != HLY_OK && ctx.error.status == HLY_OK && st != HLY_NOMEM)
    abort(); // an error without a description
  hly_arena_destroy(arena);
  return 0;
}
