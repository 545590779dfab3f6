#include "parquet/footer.h"

#include <string.h>

typedef struct parser {
  hly_file *file;
  hly_ctx *ctx;
  hly_arena *arena;
  hly_thrift t;
  hly_pq_metadata *m;
  bool nomem;
} parser;

static void *parser_alloc(parser *p, size_t n, size_t size) {
  void *out = p->nomem ? NULL : hly_arena_array(p->arena, n ? n : 1, size);
  if (!out && !p->nomem) {
    p->nomem = true;
    hly_thrift_fail(&p->t, "out of memory");
  }
  return out;
}

static const char *read_text(parser *p, hly_thrift_type type, uint32_t *n_bytes) {
  hly_bytes b = hly_thrift_bytes(&p->t, type);
  if (n_bytes) *n_bytes = b.n;
  if (p->nomem || p->t.failed) return "";
  char *copy = hly_arena_copy(p->arena, b.n ? (const void *)b.data : "", b.n);
  if (!copy) {
    p->nomem = true;
    hly_thrift_fail(&p->t, "out of memory");
    return "";
  }
  return copy;
}

// ---- schema

static hly_pq_annotation from_converted(int32_t converted, int32_t precision, int32_t scale) {
  hly_pq_annotation a = {.kind = HLY_PQ_OTHER_ANNOTATION};
  switch (converted) {
  case 0: a.kind = HLY_PQ_STRING; break;
  case 4: a.kind = HLY_PQ_ENUM; break;
  case 5:
    a.kind = HLY_PQ_DECIMAL;
    a.precision = precision;
    a.scale = scale;
    break;
  case 6: a.kind = HLY_PQ_DATE; break;
  case 7:
  case 8:
    a.kind = HLY_PQ_TIME;
    a.unit = converted == 7 ? HLY_PQ_MILLIS : HLY_PQ_MICROS;
    a.utc = true;
    break;
  case 9:
  case 10:
    a.kind = HLY_PQ_TIMESTAMP;
    a.unit = converted == 9 ? HLY_PQ_MILLIS : HLY_PQ_MICROS;
    a.utc = true;
    break;
  case 11:
  case 12:
  case 13:
  case 14:
  case 15:
  case 16:
  case 17:
  case 18:
    a.kind = HLY_PQ_INTEGER;
    a.is_signed = converted >= 15;
    a.bit_width = (uint8_t)(8 << (converted - (a.is_signed ? 15 : 11)));
    break;
  case 19: a.kind = HLY_PQ_JSON; break;
  case 20: a.kind = HLY_PQ_BSON; break;
  case 21: a.kind = HLY_PQ_INTERVAL; break;
  default: break;
  }
  return a;
}

static hly_pq_unit read_unit(hly_thrift *t, hly_thrift_type type) {
  hly_pq_unit unit = HLY_PQ_MICROS;
  if (type != HLY_THRIFT_STRUCT) {
    hly_thrift_fail(t, "a time unit has another type");
    return unit;
  }
  int32_t last = 0;
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    if (f.id >= 1 && f.id <= 3) unit = (hly_pq_unit)f.id;
    hly_thrift_skip(t, f.type);
  }
  return unit;
}

static void read_logical_detail(hly_thrift *t, int32_t id, hly_pq_annotation *a) {
  int32_t last = 0;
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    if (id == 5 && f.id == 1)
      a->scale = hly_thrift_i32(t, f.type);
    else if (id == 5 && f.id == 2)
      a->precision = hly_thrift_i32(t, f.type);
    else if ((id == 7 || id == 8) && f.id == 1)
      a->utc = hly_thrift_bool(t, f.type);
    else if ((id == 7 || id == 8) && f.id == 2)
      a->unit = read_unit(t, f.type);
    else if (id == 10 && f.id == 1)
      a->bit_width = (uint8_t)hly_thrift_i32(t, f.type);
    else if (id == 10 && f.id == 2)
      a->is_signed = hly_thrift_bool(t, f.type);
    else
      hly_thrift_skip(t, f.type);
  }
}

static hly_pq_annotation read_logical(hly_thrift *t, hly_thrift_type type) {
  static const uint8_t kinds[] = {[1] = HLY_PQ_STRING,
                                  [2] = HLY_PQ_OTHER_ANNOTATION,
                                  [3] = HLY_PQ_OTHER_ANNOTATION,
                                  [4] = HLY_PQ_ENUM,
                                  [5] = HLY_PQ_DECIMAL,
                                  [6] = HLY_PQ_DATE,
                                  [7] = HLY_PQ_TIME,
                                  [8] = HLY_PQ_TIMESTAMP,
                                  [10] = HLY_PQ_INTEGER,
                                  [11] = HLY_PQ_UNKNOWN,
                                  [12] = HLY_PQ_JSON,
                                  [13] = HLY_PQ_BSON,
                                  [14] = HLY_PQ_UUID,
                                  [15] = HLY_PQ_FLOAT16};
  hly_pq_annotation a = {.kind = HLY_PQ_OTHER_ANNOTATION};
  if (type != HLY_THRIFT_STRUCT) {
    hly_thrift_fail(t, "a logical type has another type");
    return a;
  }
  int32_t last = 0;
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    if (f.id >= 1 && f.id < (int32_t)sizeof kinds && f.id != 9 && f.type == HLY_THRIFT_STRUCT) {
      a.kind = kinds[f.id];
      read_logical_detail(t, f.id, &a);
    } else {
      hly_thrift_skip(t, f.type);
    }
  }
  return a;
}

static void read_element(parser *p, hly_pq_element *e) {
  hly_thrift *t = &p->t;
  int32_t last = 0, converted = -1, precision = 0, scale = 0, type = -1, n_children = -1, repetition = 0;
  bool has_logical = false;
  e->name = "";
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    switch (f.id) {
    case 1: type = hly_thrift_i32(t, f.type); break;
    case 2: e->type_length = hly_thrift_i32(t, f.type); break;
    case 3: repetition = hly_thrift_i32(t, f.type); break;
    case 4: e->name = read_text(p, f.type, &e->name_bytes); break;
    case 5: n_children = hly_thrift_i32(t, f.type); break;
    case 6: converted = hly_thrift_i32(t, f.type); break;
    case 7: scale = hly_thrift_i32(t, f.type); break;
    case 8: precision = hly_thrift_i32(t, f.type); break;
    case 9:
      e->field_id = hly_thrift_i32(t, f.type);
      e->has_field_id = true;
      break;
    case 10:
      e->annotation = read_logical(t, f.type);
      has_logical = true;
      break;
    default: hly_thrift_skip(t, f.type);
    }
  }
  if (t->failed) return;
  if (repetition < 0 || repetition > 2) hly_thrift_fail(t, "bad repetition in the schema");
  e->repetition = (hly_pq_repetition)repetition;
  // parquet-mr takes an element with a type for a primitive, whatever else it says.
  e->is_group = type < 0;
  if (e->is_group) {
    if (n_children < 0) hly_thrift_fail(t, "a schema element is neither a group nor a column");
    e->n_children = n_children < 0 ? 0 : (uint32_t)n_children;
  } else if (type >= HLY_PQ_N_TYPES) {
    hly_thrift_fail(t, "unknown physical type in the schema");
  } else {
    e->type = (hly_pq_type)type;
    if (e->type == HLY_PQ_FIXED_LEN_BYTE_ARRAY && e->type_length <= 0)
      hly_thrift_fail(t, "a fixed-length column without a length");
    if (e->type == HLY_PQ_INT96) e->type_length = 12;
  }
  if (!has_logical && converted >= 0) e->annotation = from_converted(converted, precision, scale);
}

// Walks the flattened tree: leaves in order, with their levels. Iterative: the depth is the file's choice.
static void walk_schema(parser *p) {
  hly_pq_metadata *m = p->m;
  enum { MAX_LEVELS = 64 };
  uint32_t left[MAX_LEVELS];
  uint8_t def[MAX_LEVELS], rep[MAX_LEVELS];
  int depth = 0;
  if (m->n_elements == 0 || !m->elements[0].is_group) {
    hly_thrift_fail(&p->t, "no schema");
    return;
  }
  m->leaves = parser_alloc(p, m->n_elements, sizeof *m->leaves);
  if (!m->leaves) return;
  m->elements[0].leaf = -1;
  left[0] = m->elements[0].n_children;
  def[0] = rep[0] = 0;
  for (uint32_t i = 1; i < m->n_elements; i++) {
    while (depth >= 0 && left[depth] == 0) depth--;
    if (depth < 0) {
      hly_thrift_fail(&p->t, "the schema has more elements than its groups say");
      return;
    }
    left[depth]--;
    hly_pq_element *e = &m->elements[i];
    int d = def[depth] + (e->repetition != HLY_PQ_REQUIRED),
        r = rep[depth] + (e->repetition == HLY_PQ_REPEATED);
    e->max_def = (uint8_t)d;
    e->max_rep = (uint8_t)r;
    e->leaf = -1;
    if (!e->is_group) {
      e->leaf = (int32_t)m->n_leaves;
      m->leaves[m->n_leaves++] = i;
    } else {
      if (depth + 1 >= MAX_LEVELS) {
        hly_thrift_fail(&p->t, "the schema is nested too deeply");
        return;
      }
      depth++;
      left[depth] = e->n_children;
      def[depth] = (uint8_t)d;
      rep[depth] = (uint8_t)r;
    }
  }
  while (depth >= 0 && left[depth] == 0) depth--;
  if (depth >= 0) hly_thrift_fail(&p->t, "the schema has fewer elements than its groups say");
}

// ---- row groups

static void read_statistics(hly_thrift *t, hly_thrift_type type, hly_pq_statistics *s) {
  if (type != HLY_THRIFT_STRUCT) {
    hly_thrift_fail(t, "statistics have another type");
    return;
  }
  int32_t last = 0;
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    switch (f.id) {
    case 1: s->old_max = hly_thrift_bytes(t, f.type); break;
    case 2: s->old_min = hly_thrift_bytes(t, f.type); break;
    case 3: s->null_count = hly_thrift_int(t, f.type); break;
    case 5: s->max_value = hly_thrift_bytes(t, f.type); break;
    case 6: s->min_value = hly_thrift_bytes(t, f.type); break;
    case 7: s->max_exact = hly_thrift_bool(t, f.type); break;
    case 8: s->min_exact = hly_thrift_bool(t, f.type); break;
    default: hly_thrift_skip(t, f.type);
    }
  }
}

static void read_chunk_metadata(hly_thrift *t, hly_thrift_type type, hly_pq_chunk *c) {
  if (type != HLY_THRIFT_STRUCT) {
    hly_thrift_fail(t, "column metadata has another type");
    return;
  }
  int32_t last = 0;
  c->has_metadata = true;
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    switch (f.id) {
    case 1: c->type = (hly_pq_type)hly_thrift_i32(t, f.type); break;
    case 2: {
      uint32_t n = hly_thrift_list(t, f.type, HLY_THRIFT_I32, 1);
      for (uint32_t i = 0; i < n; i++) {
        int32_t e = hly_thrift_i32(t, HLY_THRIFT_I32);
        if (e >= 0 && e < 32) c->encodings |= 1u << e;
      }
      break;
    }
    case 4: c->codec = (hly_pq_codec)hly_thrift_i32(t, f.type); break;
    case 5: c->n_values = hly_thrift_int(t, f.type); break;
    case 6: c->uncompressed_size = hly_thrift_int(t, f.type); break;
    case 7: c->compressed_size = hly_thrift_int(t, f.type); break;
    case 9: c->data_offset = hly_thrift_int(t, f.type); break;
    case 11: c->dictionary_offset = hly_thrift_int(t, f.type); break;
    case 12: read_statistics(t, f.type, &c->statistics); break;
    default: hly_thrift_skip(t, f.type);
    }
  }
}

static void read_chunk(hly_thrift *t, hly_pq_chunk *c) {
  int32_t last = 0;
  c->statistics.null_count = -1;
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    switch (f.id) {
    case 1: c->external = hly_thrift_bytes(t, f.type).n > 0; break;
    case 3: read_chunk_metadata(t, f.type, c); break;
    case 8:
      // Crypto metadata: 1 is "with the footer's key", which also encrypts the pages.
      c->encrypted = true;
      hly_thrift_skip(t, f.type);
      break;
    default: hly_thrift_skip(t, f.type);
    }
  }
}

static void read_row_group(parser *p, hly_pq_row_group *rg) {
  hly_thrift *t = &p->t;
  int32_t last = 0;
  uint32_t n_chunks = 0;
  rg->total_compressed_size = rg->file_offset = -1;
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    switch (f.id) {
    case 1:
      n_chunks = hly_thrift_list(t, f.type, HLY_THRIFT_STRUCT, 4);
      if (n_chunks != p->m->n_leaves) {
        hly_thrift_fail(t, "a row group has not one chunk for each column");
        break;
      }
      rg->chunks = parser_alloc(p, n_chunks, sizeof *rg->chunks);
      for (uint32_t i = 0; i < n_chunks && rg->chunks && !t->failed; i++) read_chunk(t, &rg->chunks[i]);
      break;
    case 2: rg->total_byte_size = hly_thrift_int(t, f.type); break;
    case 3: rg->n_rows = hly_thrift_int(t, f.type); break;
    case 5: rg->file_offset = hly_thrift_int(t, f.type); break;
    case 6: rg->total_compressed_size = hly_thrift_int(t, f.type); break;
    default: hly_thrift_skip(t, f.type);
    }
  }
  if (t->failed) return;
  if (!rg->chunks && p->m->n_leaves > 0) hly_thrift_fail(t, "a row group without columns");
  if (rg->n_rows < 0) hly_thrift_fail(t, "a row group has a negative number of rows");
}

static void read_orders(parser *p, hly_thrift_type type) {
  hly_thrift *t = &p->t;
  uint32_t n = hly_thrift_list(t, type, HLY_THRIFT_STRUCT, 1);
  uint8_t *orders = n == p->m->n_leaves ? parser_alloc(p, n, 1) : NULL;
  for (uint32_t i = 0; i < n && !t->failed; i++) {
    int32_t last = 0;
    hly_thrift_enter(t);
    for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
      if (f.id == 1 && orders) orders[i] = 1;
      hly_thrift_skip(t, f.type);
    }
  }
  p->m->orders = orders;
}

static void read_key_values(parser *p, hly_thrift_type type) {
  hly_thrift *t = &p->t;
  uint32_t n = hly_thrift_list(t, type, HLY_THRIFT_STRUCT, 3);
  hly_pq_key_value *kv = parser_alloc(p, n, sizeof *kv);
  if (!kv) return;
  for (uint32_t i = 0; i < n && !t->failed; i++) {
    int32_t last = 0;
    kv[i].key = "";
    hly_thrift_enter(t);
    for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
      if (f.id == 1)
        kv[i].key = read_text(p, f.type, NULL);
      else if (f.id == 2)
        kv[i].value = read_text(p, f.type, NULL);
      else
        hly_thrift_skip(t, f.type);
    }
  }
  p->m->key_values = kv;
  p->m->n_key_values = n;
}

static void read_metadata(parser *p) {
  hly_thrift *t = &p->t;
  hly_pq_metadata *m = p->m;
  int32_t last = 0;
  m->created_by = "";
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    switch (f.id) {
    case 1: m->version = hly_thrift_i32(t, f.type); break;
    case 2:
      m->n_elements = hly_thrift_list(t, f.type, HLY_THRIFT_STRUCT, 3);
      m->elements = parser_alloc(p, m->n_elements, sizeof *m->elements);
      for (uint32_t i = 0; i < m->n_elements && m->elements && !t->failed; i++)
        read_element(p, &m->elements[i]);
      if (!t->failed) walk_schema(p);
      break;
    case 3: m->n_rows = hly_thrift_int(t, f.type); break;
    case 4:
      if (!m->leaves) {
        hly_thrift_fail(t, "row groups come before the schema");
        break;
      }
      m->n_row_groups = hly_thrift_list(t, f.type, HLY_THRIFT_STRUCT, 2);
      m->row_groups = parser_alloc(p, m->n_row_groups, sizeof *m->row_groups);
      for (uint32_t i = 0; i < m->n_row_groups && m->row_groups && !t->failed; i++)
        read_row_group(p, &m->row_groups[i]);
      break;
    case 5: read_key_values(p, f.type); break;
    case 6: m->created_by = read_text(p, f.type, NULL); break;
    case 7: read_orders(p, f.type); break;
    case 8: hly_thrift_fail(t, "the file is encrypted"); break;
    default: hly_thrift_skip(t, f.type);
    }
  }
  if (!t->failed && !m->leaves) hly_thrift_fail(t, "no schema");
}

// What the rest of the reader relies on.
static hly_status check_chunks(parser *p, int64_t data_end) {
  hly_pq_metadata *m = p->m;
  int64_t first_row = 0;
  for (uint32_t g = 0; g < m->n_row_groups; g++) {
    hly_pq_row_group *rg = &m->row_groups[g];
    rg->first_row = first_row;
    if (__builtin_add_overflow(first_row, rg->n_rows, &first_row))
      return hly_file_fail(p->file, "corrupt footer: too many rows");
    for (uint32_t i = 0; i < m->n_leaves; i++) {
      hly_pq_chunk *c = &rg->chunks[i];
      const hly_pq_element *e = &m->elements[m->leaves[i]];
      if (rg->n_rows == 0) continue; // never read
      if (c->external) return hly_file_fail(p->file, "column %s is in another file", e->name);
      if (!c->has_metadata) {
        if (c->encrypted) continue;
        return hly_file_fail(p->file, "corrupt footer: column %s has no metadata", e->name);
      }
      if (c->type != e->type)
        return hly_file_fail(p->file, "corrupt footer: chunk and schema of column %s differ in type",
                             e->name);
      if (c->dictionary_offset < 0 || c->dictionary_offset >= data_end) c->dictionary_offset = 0;
      int64_t start = hly_pq_chunk_start(c);
      if (c->n_values < 0 || c->compressed_size < 0 || start < 4 || start > data_end ||
          c->compressed_size > data_end - start)
        return hly_file_fail(
            p->file, "corrupt footer: column %s of row group %u has %lld bytes at %lld of a file of %lld",
            e->name, g, (long long)c->compressed_size, (long long)start, (long long)p->file->size);
      if (e->max_rep == 0 && c->n_values != rg->n_rows)
        return hly_file_fail(p->file,
                             "corrupt footer: column %s of row group %u has %lld values for %lld rows",
                             e->name, g, (long long)c->n_values, (long long)rg->n_rows);
    }
  }
  return HLY_OK;
}

hly_status hly_pq_footer_read(hly_file *f, hly_arena *arena, hly_pq_metadata **out) {
  enum { TAIL = 64 << 10 };
  hly_ctx *ctx = f->ctx;
  *out = NULL;
  if (f->size < 12)
    return hly_file_fail(f, "not a Parquet file: %lld bytes are too few for one", (long long)f->size);
  // One read gets most footers whole.
  int64_t n_tail = f->size < TAIL ? f->size : TAIL;
  uint8_t *tail = hly_arena_alloc(arena, (size_t)n_tail);
  HLY_CHECK_MEM(ctx, tail, n_tail);
  HLY_TRY(hly_file_read(f, f->size - n_tail, tail, n_tail));
  const uint8_t *magic = tail + n_tail - 4;
  if (memcmp(magic, "PARE", 4) == 0) return hly_file_fail(f, "the file has an encrypted footer");
  if (memcmp(magic, "PAR1", 4) != 0)
    return hly_file_fail(f, "not a Parquet file: its last bytes are %02x %02x %02x %02x, not PAR1", magic[0],
                         magic[1], magic[2], magic[3]);
  uint32_t n_footer;
  memcpy(&n_footer, magic - 4, 4);
  if ((int64_t)n_footer > f->size - 12)
    return hly_file_fail(f, "corrupt file: a footer of %u bytes in a file of %lld", n_footer,
                         (long long)f->size);
  const uint8_t *bytes = magic - 4 - n_footer;
  if ((int64_t)n_footer + 8 > n_tail) {
    uint8_t *whole = hly_arena_alloc(arena, n_footer);
    HLY_CHECK_MEM(ctx, whole, n_footer);
    HLY_TRY(hly_file_read(f, f->size - 8 - n_footer, whole, n_footer));
    bytes = whole;
  }
  parser p = {.file = f, .ctx = ctx, .arena = arena};
  p.m = HLY_ARENA_NEW(arena, hly_pq_metadata);
  HLY_CHECK_MEM(ctx, p.m, sizeof *p.m);
  hly_thrift_init(&p.t, bytes, n_footer);
  read_metadata(&p);
  if (p.nomem) return hly_ctx_nomem(ctx, n_footer);
  if (p.t.failed) return hly_file_fail(f, "corrupt footer: %s", p.t.failed);
  HLY_TRY(check_chunks(&p, f->size - 8 - n_footer));
  *out = p.m;
  return HLY_OK;
}

const char *hly_pq_footer_key(const hly_pq_metadata *m, const char *key) {
  const char *value = NULL;
  for (uint32_t i = 0; i < m->n_key_values; i++)
    if (strcmp(m->key_values[i].key, key) == 0 && m->key_values[i].value) value = m->key_values[i].value;
  return value;
}

int64_t hly_pq_chunk_start(const hly_pq_chunk *c) {
  return c->dictionary_offset > 0 && c->dictionary_offset < c->data_offset ? c->dictionary_offset
                                                                           : c->data_offset;
}

bool hly_pq_row_group_in_split(const hly_pq_row_group *rg, uint32_t n_leaves, int64_t start, int64_t length) {
  int64_t size = rg->total_compressed_size, first = rg->file_offset;
  if (n_leaves > 0 && rg->chunks[0].has_metadata) first = hly_pq_chunk_start(&rg->chunks[0]);
  if (size < 0) {
    size = 0;
    for (uint32_t i = 0; i < n_leaves; i++)
      if (__builtin_add_overflow(size, rg->chunks[i].compressed_size, &size)) return false;
  }
  int64_t middle = first + size / 2; // wraps like the rule's own arithmetic on nonsense sizes
  return middle >= start && (length < 0 || middle - start < length);
}
