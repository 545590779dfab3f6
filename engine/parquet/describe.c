#include "parquet/describe.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "parquet/footer.h"
#include "parquet/page.h"
#include "parquet/schema.h"

static void print_annotation(FILE *out, const hly_pq_annotation *a) {
  static const char *const units[] = {"", "MILLIS", "MICROS", "NANOS"};
  if (a->kind == HLY_PQ_NO_ANNOTATION) return;
  fprintf(out, " (%s", hly_pq_logical_name(a->kind));
  switch (a->kind) {
  case HLY_PQ_DECIMAL: fprintf(out, "(%d,%d)", a->precision, a->scale); break;
  case HLY_PQ_INTEGER: fprintf(out, "(%d,%s)", a->bit_width, a->is_signed ? "signed" : "unsigned"); break;
  case HLY_PQ_TIME:
  case HLY_PQ_TIMESTAMP: fprintf(out, "(%s,%s)", units[a->unit & 3], a->utc ? "UTC" : "local"); break;
  default: break;
  }
  fputc(')', out);
}

static void print_schema(FILE *out, const hly_pq_metadata *m) {
  static const char *const repetitions[] = {"required", "optional", "repeated"};
  uint32_t ends[64]; // of the groups around an element
  int depth = 0;
  fprintf(out, "schema\n");
  for (uint32_t i = 1; i < m->n_elements; i++) {
    const hly_pq_element *e = &m->elements[i];
    while (depth > 0 && i >= ends[depth - 1]) depth--;
    fprintf(out, "%*s%s ", 2 + 2 * depth, "", repetitions[e->repetition]);
    if (e->is_group)
      fprintf(out, "group");
    else
      fprintf(out, "%s", hly_pq_type_name(e->type));
    if (!e->is_group && e->type == HLY_PQ_FIXED_LEN_BYTE_ARRAY) fprintf(out, "(%d)", e->type_length);
    fprintf(out, " %s", e->name);
    print_annotation(out, &e->annotation);
    if (e->has_field_id) fprintf(out, " id %d", e->field_id);
    fputc('\n', out);
    if (e->is_group && depth < 64) ends[depth++] = hly_pq_schema_next(m, i);
  }
}

// A bound as a number where its type is one, else as text with what does not print escaped.
static void print_bound(FILE *out, const hly_pq_element *e, hly_bytes b) {
  if (!b.data) {
    fputc('-', out);
    return;
  }
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
  switch (e->type) {
  case HLY_PQ_INT32:
    if (b.n != 4) break;
    memcpy(&i32, b.data, 4);
    fprintf(out, "%" PRId32, i32);
    return;
  case HLY_PQ_INT64:
    if (b.n != 8) break;
    memcpy(&i64, b.data, 8);
    fprintf(out, "%" PRId64, i64);
    return;
  case HLY_PQ_FLOAT:
    if (b.n != 4) break;
    memcpy(&f32, b.data, 4);
    fprintf(out, "%.9g", f32);
    return;
  case HLY_PQ_DOUBLE:
    if (b.n != 8) break;
    memcpy(&f64, b.data, 8);
    fprintf(out, "%.17g", f64);
    return;
  default: break;
  }
  fputc('"', out);
  for (uint32_t i = 0; i < b.n && i < 40; i++) {
    if (isprint(b.data[i]) && b.data[i] != '"' && b.data[i] != '\\')
      fputc(b.data[i], out);
    else
      fprintf(out, "\\x%02x", b.data[i]);
  }
  fprintf(out, b.n > 40 ? "...\"" : "\"");
}

static void print_statistics(FILE *out, const hly_pq_element *e, const hly_pq_statistics *s) {
  bool old = !s->min_value.data && !s->max_value.data && (s->old_min.data || s->old_max.data);
  if (!old && !s->min_value.data && !s->max_value.data && s->null_count < 0) return;
  fprintf(out, "; %s ", old ? "deprecated bounds" : "bounds");
  print_bound(out, e, old ? s->old_min : s->min_value);
  fprintf(out, " .. ");
  print_bound(out, e, old ? s->old_max : s->max_value);
  if (s->null_count >= 0) fprintf(out, ", %" PRId64 " nulls", s->null_count);
}

// One line for each run of pages of one kind and encoding.
typedef struct page_run {
  hly_pq_page_type type;
  int32_t encoding;
  uint32_t n;
  int64_t values, bytes, uncompressed;
} page_run;

static void print_run(FILE *out, const page_run *r) {
  static const char *const kinds[] = {"data v1", "index", "dictionary", "data v2"};
  if (r->n == 0) return;
  fprintf(out, "        %u %s page%s, %s, %" PRId64 " values, %" PRId64 " bytes (%" PRId64 " uncompressed)\n",
          r->n, (unsigned)r->type < 4 ? kinds[r->type] : "unknown", r->n == 1 ? "" : "s",
          hly_pq_encoding_name(r->encoding), r->values, r->bytes, r->uncompressed);
}

static hly_status print_pages(FILE *out, hly_file *file, const hly_pq_element *e, const hly_pq_chunk *c) {
  hly_pq_codec_state codecs = {0};
  hly_pq_pages pages = {0};
  page_run run = {0};
  hly_status st = HLY_OK;
  hly_pq_pages_init(&pages, file, e->name, c, &codecs, NULL, 0);
  pages.window_size = 64 << 10; // only headers are looked at
  for (bool more = true;;) {
    hly_pq_page_header h;
    st = hly_pq_pages_next(&pages, &h, &more);
    if (st != HLY_OK || !more) break;
    if (run.n && (run.type != h.type || run.encoding != h.encoding)) {
      print_run(out, &run);
      run.n = 0;
    }
    if (run.n == 0) run = (page_run){.type = h.type, .encoding = h.encoding};
    run.n++;
    run.values += h.n_values > 0 ? h.n_values : 0;
    run.bytes += h.compressed_size;
    run.uncompressed += h.uncompressed_size;
    hly_pq_pages_skip(&pages, &h);
  }
  print_run(out, &run);
  hly_pq_pages_deinit(&pages);
  hly_pq_codec_deinit(&codecs);
  return st;
}

static hly_status describe(hly_file *file, hly_arena *arena, FILE *out) {
  hly_pq_metadata *m;
  HLY_TRY(hly_pq_footer_read(file, arena, &m));
  fprintf(out,
          "%s: %" PRId64 " bytes, %" PRId64 " rows, %u row groups, %u columns, format %d, written by %s\n",
          file->uri, file->size, m->n_rows, m->n_row_groups, m->n_leaves, m->version,
          m->created_by[0] ? m->created_by : "unknown");
  print_schema(out, m);
  for (uint32_t i = 0; i < m->n_key_values; i++) {
    const char *value = m->key_values[i].value ? m->key_values[i].value : "";
    fprintf(out, "%s = %.200s%s\n", m->key_values[i].key, value, strlen(value) > 200 ? "..." : "");
  }
  for (uint32_t g = 0; g < m->n_row_groups; g++) {
    const hly_pq_row_group *rg = &m->row_groups[g];
    fprintf(out, "row group %u: %" PRId64 " rows, %" PRId64 " bytes\n", g, rg->n_rows, rg->total_byte_size);
    for (uint32_t l = 0; l < m->n_leaves; l++) {
      const hly_pq_element *e = &m->elements[m->leaves[l]];
      const hly_pq_chunk *c = &rg->chunks[l];
      if (!c->has_metadata) {
        fprintf(out, "    %s: encrypted\n", e->name);
        continue;
      }
      fprintf(out, "    %s: %s, %" PRId64 " values, %" PRId64 " bytes (%" PRId64 " uncompressed) at %" PRId64,
              e->name, hly_pq_codec_name(c->codec), c->n_values, c->compressed_size, c->uncompressed_size,
              hly_pq_chunk_start(c));
      print_statistics(out, e, &c->statistics);
      fputc('\n', out);
      if (rg->n_rows > 0 && !c->encrypted) HLY_TRY(print_pages(out, file, e, c));
    }
  }
  return HLY_OK;
}

hly_status hly_parquet_describe(hly_ctx *ctx, const char *path, FILE *out) {
  hly_arena *arena = hly_arena_create();
  HLY_CHECK_MEM(ctx, arena, 0);
  hly_file *file;
  hly_status st = hly_file_open(ctx, path, true, 0, &file);
  if (st == HLY_OK) {
    st = describe(file, arena, out);
    hly_file_close(file);
  }
  hly_arena_destroy(arena);
  return st;
}
