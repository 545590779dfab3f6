#include "parquet/reader.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "memory/pool.h"

// ---- opening

static hly_pq_rebase rebase_mode(const char *mode) {
  if (mode && strcmp(mode, "LEGACY") == 0) return HLY_PQ_REBASE_LEGACY;
  return mode && strcmp(mode, "EXCEPTION") == 0 ? HLY_PQ_REBASE_EXCEPTION : HLY_PQ_REBASE_CORRECTED;
}

// Who wrote the file decides, and the session's mode where the file does not say (Spark's DataSourceUtils).
static hly_pq_rebase file_rebase_mode(const hly_pq_metadata *m, const char *mode, const char *first_version,
                                      const char *legacy_key) {
  const char *version = hly_pq_footer_key(m, "org.apache.spark.version");
  if (!version) return rebase_mode(mode);
  return strcmp(version, first_version) < 0 || hly_pq_footer_key(m, legacy_key) ? HLY_PQ_REBASE_LEGACY
                                                                                : HLY_PQ_REBASE_CORRECTED;
}

static hly_pq_rebase_spec rebase_spec(hly_pq_reader *r) {
  const hly_pq_metadata *m = r->metadata;
  const hly_pq_request *request = r->request;
  const char *zone = hly_pq_footer_key(m, "org.apache.spark.timeZone");
  if (!zone) zone = request->time_zone && request->time_zone[0] ? request->time_zone : "UTC";
  return (hly_pq_rebase_spec){
      .datetime = file_rebase_mode(m, request->datetime_rebase, "3.0.0", "org.apache.spark.legacyDateTime"),
      .int96 = file_rebase_mode(m, request->int96_rebase, "3.1.0", "org.apache.spark.legacyINT96"),
      .zone = &r->zone,
      .unknown_zone = hly_pq_rebase_zone_find(zone, &r->zone) ? NULL : zone};
}

static hly_status open_file(hly_pq_reader *r) {
  uint32_t n = r->request->n_fields;
  r->sources = HLY_ARENA_NEW_N(r->arena, hly_pq_source, n + 1);
  r->columns = HLY_ARENA_NEW_N(r->arena, hly_pq_column, n + 1);
  r->late = HLY_ARENA_NEW_N(r->arena, uint8_t, n + 1);
  r->started = HLY_ARENA_NEW_N(r->arena, bool, n + 1);
  r->unread = HLY_ARENA_NEW_N(r->arena, int64_t, n + 1);
  r->position = HLY_ARENA_NEW_N(r->arena, int64_t, n + 1);
  const hly_pq_element **elements = HLY_ARENA_NEW_N(r->arena, const hly_pq_element *, n + 1);
  if (!r->sources || !r->columns || !r->late || !r->started || !r->unread || !r->position || !elements)
    return hly_ctx_nomem(r->ctx, (int64_t)(n * sizeof *r->columns));
  HLY_TRY(hly_pq_footer_read(r->file, r->arena, &r->metadata));
  HLY_TRY(hly_pq_schema_match(r->file, r->metadata, r->request, elements));
  hly_pq_rebase_spec rebase = rebase_spec(r);
  for (uint32_t i = 0; i < n; i++) {
    const hly_field *field = &r->request->fields[i];
    hly_pq_source *s = &r->sources[i];
    s->element = elements[i];
    s->default_value = field->default_value;
    s->row_index = strcmp(field->name, HLY_PQ_ROW_INDEX_NAME) == 0 && field->type->kind == HLY_LONG;
    if (s->row_index) s->element = NULL;
    if (!s->element) continue;
    s->legal = hly_pq_convert_find(s->element, field->type, &rebase, &s->convert);
    hly_pq_column_init(&r->columns[i], r->file, s->element, field->type, &s->convert);
  }
  return HLY_OK;
}

hly_status hly_pq_reader_open(hly_ctx *ctx, hly_file *file, const hly_pq_request *request, int64_t start,
                              int64_t length, hly_pq_reader **out) {
  *out = NULL;
  hly_pq_reader *r = hly_calloc(1, sizeof *r);
  hly_arena *arena = r ? hly_arena_create() : NULL;
  if (!arena) {
    hly_free(r);
    hly_file_close(file);
    return hly_ctx_nomem(ctx, sizeof *r);
  }
  r->ctx = ctx;
  r->file = file;
  r->arena = arena;
  r->request = request;
  r->start = start;
  r->length = length;
  hly_status st = open_file(r);
  if (st != HLY_OK) {
    hly_pq_reader_close(r);
    return st;
  }
  *out = r;
  return HLY_OK;
}

void hly_pq_reader_close(hly_pq_reader *r) {
  if (!r) return;
  if (r->columns)
    for (uint32_t i = 0; i < r->request->n_fields; i++)
      if (r->columns[i].file) hly_pq_column_deinit(&r->columns[i]);
  hly_pq_codec_deinit(&r->codecs);
  if (r->ctx->pool && r->recorded) hly_pool_record(r->ctx->pool, -r->recorded);
  hly_arena_destroy(r->arena);
  hly_file_close(r->file);
  hly_free(r);
}

// ---- row groups

static hly_status type_mismatch(hly_pq_reader *r, uint32_t i) {
  const hly_pq_element *e = r->sources[i].element;
  char expected[512], column[512];
  hly_type_print(r->request->fields[i].type, expected, sizeof expected);
  snprintf(column, sizeof column, "[%s]", e->name);
  return hly_error_set(&r->ctx->error, HLY_E_FILE_COLUMN_TYPE, 4, "path", r->file->uri, "column", column,
                       "expectedType", expected, "actualType", hly_pq_type_name(e->type));
}

// Working memory as the pool sees it: what the columns hold on to between batches.
static void record_memory(hly_pq_reader *r) {
  if (!r->ctx->pool) return;
  int64_t now = 0;
  for (uint32_t i = 0; i < r->request->n_fields; i++) {
    const hly_pq_column *c = &r->columns[i];
    if (c->pages.window && !c->pages.window_borrowed) now += (int64_t)c->pages.window->capacity;
    if (c->pages.body) now += (int64_t)c->pages.body->capacity;
    if (c->dictionary) now += (int64_t)hly_vector_pinned_bytes(c->dictionary);
  }
  hly_pool_record(r->ctx->pool, now - r->recorded);
  r->recorded = now;
}

hly_status hly_pq_reader_next_group(hly_pq_reader *r, const hly_pq_prune *prune, bool *more) {
  const hly_pq_metadata *m = r->metadata;
  record_memory(r);
  *more = false;
  for (; r->next_row_group < m->n_row_groups; r->next_row_group++) {
    const hly_pq_row_group *rg = &m->row_groups[r->next_row_group];
    if (rg->n_rows == 0 || !hly_pq_row_group_in_split(rg, m->n_leaves, r->start, r->length)) continue;
    if (prune && hly_pq_prune_row_group(prune, r->sources, m, rg)) {
      r->row_groups_pruned++;
      continue;
    }
    if (r->rule_out && r->rule_out(r->rule_out_arg, r, rg)) {
      r->row_groups_ruled_out++;
      continue;
    }
    for (uint32_t i = 0; i < r->request->n_fields; i++) {
      const hly_pq_source *s = &r->sources[i];
      if (s->element && !s->legal) return type_mismatch(r, i);
      if (s->element && rg->chunks[s->element->leaf].encrypted)
        return hly_file_fail(r->file, "column %s is encrypted", s->element->name);
      r->started[i] = false;
      r->unread[i] = r->position[i] = 0;
    }
    r->row_group = rg;
    r->rows_left = rg->n_rows;
    r->next_row_group++;
    r->row_groups_read++;
    *more = true;
    return HLY_OK;
  }
  return HLY_OK;
}

bool hly_pq_reader_may_fail(const hly_pq_reader *r, uint32_t i) {
  const hly_pq_metadata *m = r->metadata;
  for (uint32_t g = 0; g < m->n_row_groups; g++) {
    const hly_pq_row_group *rg = &m->row_groups[g];
    if (rg->n_rows > 0 && hly_pq_row_group_in_split(rg, m->n_leaves, r->start, r->length) &&
        hly_pq_may_fail(&r->sources[i], r->request->fields[i].type, m, rg))
      return true;
  }
  return false;
}

// ---- reading the bytes of chunks

// Chunks that lie close together are read at once when they are small: a read of a remote file costs more
// than the bytes of a gap. Local reads cost little, and small windows stay in the cache.
enum {
  GAP = 64 << 10,
  LOCAL_MERGE = 128 << 10,
  HOST_MERGE = 32 << 20,
  HOST_WINDOWS = 64 << 20, // of all columns
  HOST_LEAST = 512 << 10,
};

static void start_column(hly_pq_reader *r, uint32_t i, hly_buf *preloaded, int64_t preloaded_start) {
  const hly_pq_chunk *chunk = &r->row_group->chunks[r->sources[i].element->leaf];
  hly_pq_column_start(&r->columns[i], chunk, &r->codecs, preloaded, preloaded_start);
  r->started[i] = true;
  // Windows of remote files are large, but not all of them together.
  if (!r->file->local) {
    int64_t share = (int64_t)HOST_WINDOWS / r->request->n_fields;
    if (share < r->columns[i].pages.window_size)
      r->columns[i].pages.window_size = share > HOST_LEAST ? share : HOST_LEAST;
  }
  if (!preloaded && chunk->compressed_size > LOCAL_MERGE)
    hly_file_will_need(r->file, hly_pq_chunk_start(chunk), chunk->compressed_size);
}

static int64_t chunk_start(const hly_pq_reader *r, uint32_t i) {
  return hly_pq_chunk_start(&r->row_group->chunks[r->sources[i].element->leaf]);
}
static int64_t chunk_end(const hly_pq_reader *r, uint32_t i) {
  return chunk_start(r, i) + r->row_group->chunks[r->sources[i].element->leaf].compressed_size;
}

// The field not started yet, of the set, whose chunk comes first at or after `from`.
static int32_t first_chunk(const hly_pq_reader *r, uint8_t set, int64_t from) {
  int32_t best = -1;
  for (uint32_t i = 0; i < r->request->n_fields; i++)
    if (r->sources[i].element && !r->started[i] && r->late[i] == set && chunk_start(r, i) >= from &&
        (best < 0 || chunk_start(r, i) < chunk_start(r, (uint32_t)best)))
      best = (int32_t)i;
  return best;
}

static hly_status start_set(hly_pq_reader *r, uint8_t set) {
  int64_t most = r->file->local ? LOCAL_MERGE : HOST_MERGE;
  for (int32_t first; (first = first_chunk(r, set, 0)) >= 0;) {
    int64_t start = chunk_start(r, (uint32_t)first), end = chunk_end(r, (uint32_t)first);
    uint32_t n = 1;
    // As many of the following as fit.
    for (uint32_t i = 0; i < r->request->n_fields; i++) {
      int32_t next = -1;
      for (uint32_t k = 0; k < r->request->n_fields; k++)
        if (r->sources[k].element && !r->started[k] && r->late[k] == set && chunk_end(r, k) > end &&
            chunk_start(r, k) >= start && (next < 0 || chunk_start(r, k) < chunk_start(r, (uint32_t)next)))
          next = (int32_t)k;
      if (next < 0 || chunk_start(r, (uint32_t)next) > end + GAP ||
          chunk_end(r, (uint32_t)next) - start > most)
        break;
      end = chunk_end(r, (uint32_t)next);
      n++;
    }
    if (n == 1) {
      start_column(r, (uint32_t)first, NULL, 0);
      continue;
    }
    hly_buf *buf = hly_buf_create((size_t)(end - start));
    HLY_CHECK_MEM(r->ctx, buf, end - start);
    hly_status st = hly_file_read(r->file, start, buf->data, end - start);
    for (uint32_t k = 0; k < r->request->n_fields && st == HLY_OK; k++)
      if (r->sources[k].element && !r->started[k] && r->late[k] == set && chunk_start(r, k) >= start &&
          chunk_end(r, k) <= end)
        start_column(r, k, buf, start);
    hly_buf_unref(buf);
    HLY_TRY(st);
  }
  return HLY_OK;
}

// ---- rows

static hly_status need_column(hly_pq_reader *r, uint32_t i) {
  if (!r->started[i]) HLY_TRY(start_set(r, r->late[i]));
  while (r->unread[i] > 0) {
    uint32_t n = r->unread[i] < INT32_MAX ? (uint32_t)r->unread[i] : INT32_MAX;
    hly_pq_column_skip(&r->columns[i], n);
    r->unread[i] -= n;
  }
  return HLY_OK;
}

static hly_status read_constant(hly_pq_reader *r, uint32_t i, uint32_t n, hly_vector *out) {
  hly_literal null = {.type = r->request->fields[i].type, .is_null = true};
  const hly_literal *value = r->sources[i].default_value;
  return hly_vector_set_const(r->ctx, out, value ? value : &null, n);
}

static hly_status read_row_index(hly_pq_reader *r, uint32_t i, const uint32_t *sel, uint32_t n,
                                 hly_vector *out) {
  HLY_TRY(hly_vector_reset(r->ctx, out, n));
  int64_t first = r->row_group->first_row + r->position[i], *to = out->values;
  for (uint32_t k = 0; k < n; k++) to[k] = first + (sel ? sel[k] : k);
  return HLY_OK;
}

hly_status hly_pq_reader_read(hly_pq_reader *r, uint32_t i, uint32_t n, hly_vector *out) {
  hly_status st;
  if (r->sources[i].element) {
    HLY_TRY(need_column(r, i));
    st = hly_pq_column_read(&r->columns[i], n, out);
  } else {
    st = r->sources[i].row_index ? read_row_index(r, i, NULL, n, out) : read_constant(r, i, n, out);
  }
  r->position[i] += n;
  return st;
}

hly_status hly_pq_reader_select(hly_pq_reader *r, uint32_t i, uint32_t n, const uint32_t *sel, uint32_t n_sel,
                                hly_vector *out) {
  hly_status st;
  if (r->sources[i].element) {
    HLY_TRY(need_column(r, i));
    st = hly_pq_column_select(&r->columns[i], n, sel, n_sel, out);
  } else {
    st = r->sources[i].row_index ? read_row_index(r, i, sel, n_sel, out) : read_constant(r, i, n_sel, out);
  }
  r->position[i] += n;
  return st;
}

void hly_pq_reader_skip(hly_pq_reader *r, uint32_t i, uint32_t n) {
  r->position[i] += n;
  r->unread[i] += n;
}

int64_t hly_pq_reader_decode_ns(const hly_pq_reader *r) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < r->request->n_fields; i++) sum += r->columns[i].decode_ns;
  return sum;
}

int64_t hly_pq_reader_pages_skipped(const hly_pq_reader *r) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < r->request->n_fields; i++) sum += r->columns[i].n_pages_skipped;
  return sum;
}
