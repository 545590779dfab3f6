#include "shuffle/partitioner.h"

#include <string.h>

#include "base/mem.h"
#include "rows/unsafe_row.h"

enum { SEED = 42 }; // of HashPartitioning's Murmur3Hash

typedef struct range_order {
  bool ascending, nulls_first;
} range_order;

struct hly_partitioner {
  Halley__PartitioningKind kind;
  bool pass_through;
  uint32_t n_partitions;
  uint64_t reciprocal; // of n_partitions, see remainder_of
  uint32_t offset;     // 2^32 mod n, see floor_mod
  hly_exprs *exprs;    // NULL for SINGLE
  uint32_t n_exprs;
  // RANGE
  range_order *orders;
  hly_schema key_schema;
  const uint8_t *bound_bytes; // UnsafeRows, 8-byte aligned
  uint64_t *bound_offsets;
  uint32_t n_bounds;
  // while open
  hly_arena *arena;
  hly_batch *bounds;
};

// ---- modulo

// Remainder by a divisor known beforehand (Lemire, Kaser, Kurz, "Faster remainder by direct computation").
static inline uint32_t remainder_of(uint32_t x, uint64_t reciprocal, uint32_t n) {
  uint64_t low = reciprocal * x;
  return (uint32_t)(((unsigned __int128)low * n) >> 64);
}

// Spark's Pmod of a signed hash. As unsigned the hash is larger by 2^32 when it is negative: take 2^32 mod n
// off.
static inline uint32_t floor_mod(uint32_t h, uint64_t reciprocal, uint32_t n, uint32_t offset) {
  uint32_t r = remainder_of(h, reciprocal, n);
  if ((int32_t)h < 0) r = r >= offset ? r - offset : r + (n - offset);
  return r;
}

// ---- binding

static hly_status bind_bounds(hly_binder *b, const Halley__ShuffleWrite *m, hly_partitioner *p) {
  p->n_bounds = (uint32_t)m->n_bounds;
  uint64_t total = 0;
  for (size_t i = 0; i < m->n_bounds; i++) total += (m->bounds[i].len + 7) & ~(size_t)7;
  uint8_t *bytes = hly_arena_alloc(b->arena, total ? total : 8);
  p->bound_offsets = HLY_ARENA_NEW_N(b->arena, uint64_t, m->n_bounds + 1);
  if (!bytes || !p->bound_offsets) return hly_ctx_nomem(b->ctx, (int64_t)total);
  uint64_t at = 0;
  for (size_t i = 0; i < m->n_bounds; i++) {
    p->bound_offsets[i] = at;
    if (m->bounds[i].len) memcpy(bytes + at, m->bounds[i].data, m->bounds[i].len);
    at += (m->bounds[i].len + 7) & ~(size_t)7;
  }
  p->bound_offsets[m->n_bounds] = at;
  p->bound_bytes = bytes;
  return HLY_OK;
}

static hly_status bind_range(hly_binder *b, int32_t plan_id, const Halley__ShuffleWrite *m,
                             const hly_schema *input, hly_partitioner *p) {
  uint32_t n = p->n_exprs = (uint32_t)m->n_orders;
  if (n == 0) return hly_bind_refuse(b, "range partitioning without keys");
  if ((size_t)p->n_partitions != m->n_bounds + 1 && p->n_partitions > m->n_bounds + 1) {
    // Fewer bounds than asked for: Spark counts only the partitions that bounds tell apart.
  } else if (m->n_bounds >= p->n_partitions) {
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID,
                          "range partitioning: more bounds than partitions");
  }
  const Halley__Expr **exprs = HLY_ARENA_NEW_N(b->arena, const Halley__Expr *, n);
  p->orders = HLY_ARENA_NEW_N(b->arena, range_order, n);
  hly_field *fields = HLY_ARENA_NEW_N(b->arena, hly_field, n);
  if (!exprs || !p->orders || !fields) return hly_ctx_nomem(b->ctx, n * sizeof *fields);
  for (uint32_t i = 0; i < n; i++) {
    if (!m->orders[i]->child) {
      return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID,
                            "range partitioning: an order without expression");
    }
    exprs[i] = m->orders[i]->child;
    p->orders[i] = (range_order){m->orders[i]->ascending, m->orders[i]->nulls_first};
  }
  HLY_TRY(hly_exprs_bind(b, plan_id, exprs, n, input, &p->exprs));
  for (uint32_t i = 0; i < n; i++) {
    const hly_type *type = hly_exprs_type(p->exprs, i);
    if (!hly_range_supports(type)) {
      char name[128];
      return hly_bind_refuse(b, "range partitioning by %s", hly_type_print(type, name, sizeof name));
    }
    fields[i] = (hly_field){.name = "key", .type = type, .nullable = true};
  }
  p->key_schema = (hly_schema){n, fields};
  return bind_bounds(b, m, p);
}

static hly_status bind_hash(hly_binder *b, int32_t plan_id, const Halley__ShuffleWrite *m,
                            const hly_schema *input, hly_partitioner *p) {
  p->n_exprs = (uint32_t)m->n_hash_exprs;
  if (p->n_exprs == 0) return HLY_OK; // the hash of nothing is the seed
  HLY_TRY(
      hly_exprs_bind(b, plan_id, (const Halley__Expr *const *)m->hash_exprs, p->n_exprs, input, &p->exprs));
  if (p->pass_through) {
    if (p->n_exprs != 1 || hly_exprs_type(p->exprs, 0)->kind != HLY_INT) {
      return hly_bind_refuse(b, "a partition id that is not one int");
    }
    return HLY_OK;
  }
  for (uint32_t i = 0; i < p->n_exprs; i++) {
    const hly_type *type = hly_exprs_type(p->exprs, i);
    if (!hly_murmur3_supports(type)) {
      char name[128];
      return hly_bind_refuse(b, "hash partitioning by %s", hly_type_print(type, name, sizeof name));
    }
  }
  return HLY_OK;
}

hly_status hly_partitioner_bind(hly_binder *b, int32_t plan_id, const Halley__ShuffleWrite *m,
                                const hly_schema *input, hly_partitioner **out) {
  *out = NULL;
  if (m->n_partitions < 1) {
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "a shuffle into %d partitions",
                          m->n_partitions);
  }
  hly_partitioner *p = HLY_ARENA_NEW(b->arena, hly_partitioner);
  HLY_CHECK_MEM(b->ctx, p, sizeof *p);
  p->kind = m->kind;
  p->pass_through = m->pass_through;
  p->n_partitions = (uint32_t)m->n_partitions;
  p->reciprocal = UINT64_MAX / p->n_partitions + 1;
  p->offset = (uint32_t)((1ull << 32) % p->n_partitions);
  switch (m->kind) {
  case HALLEY__PARTITIONING_KIND__SINGLE: break;
  case HALLEY__PARTITIONING_KIND__HASH:
  case HALLEY__PARTITIONING_KIND__ROUND_ROBIN: // spreads rows by their hash, so that a retried task places
                                               // them alike
    HLY_TRY(bind_hash(b, plan_id, m, input, p));
    break;
  case HALLEY__PARTITIONING_KIND__RANGE: HLY_TRY(bind_range(b, plan_id, m, input, p)); break;
  default:
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "a partitioning of kind %d", (int)m->kind);
  }
  *out = p;
  return HLY_OK;
}

hly_status hly_partitioner_open(hly_partitioner *p, hly_ctx *ctx, int32_t partition, int64_t *metrics) {
  if (p->exprs) HLY_TRY(hly_exprs_open(p->exprs, ctx, partition, metrics));
  if (p->n_bounds) {
    p->arena = hly_arena_create();
    HLY_CHECK_MEM(ctx, p->arena, 4096);
    HLY_TRY(hly_batch_create(ctx, p->arena, &p->key_schema, &p->bounds));
    HLY_TRY(
        hly_unsafe_row_decode(ctx, p->bound_bytes, p->bound_offsets, p->n_bounds, &p->key_schema, p->bounds));
  }
  return HLY_OK;
}

void hly_partitioner_close(hly_partitioner *p) {
  if (p->exprs) hly_exprs_close(p->exprs);
  hly_arena_destroy(p->arena);
  p->arena = NULL;
  p->bounds = NULL;
}

uint32_t hly_partitioner_count(const hly_partitioner *p) {
  return p->n_partitions;
}

// ---- ids

static void hash_ids(hly_partitioner *p, hly_vector *const *keys, const uint32_t *sel, uint32_t n,
                     uint32_t *ids) {
  for (uint32_t k = 0; k < n; k++) ids[k] = SEED;
  for (uint32_t i = 0; i < p->n_exprs; i++) hly_murmur3_column(keys[i], sel, n, i == 0, ids);
  uint64_t reciprocal = p->reciprocal;
  uint32_t m = p->n_partitions, offset = p->offset;
  if ((m & (m - 1)) == 0) {
    for (uint32_t k = 0; k < n; k++) ids[k] &= m - 1;
  } else {
    for (uint32_t k = 0; k < n; k++) ids[k] = floor_mod(ids[k], reciprocal, m, offset);
  }
}

// The expression is the partition id; a null counts as 0, as Spark reads it from the row.
static void pass_ids(hly_partitioner *p, const hly_vector *v, const uint32_t *sel, uint32_t n,
                     uint32_t *ids) {
  const uint32_t *in = hly_vector_base(v);
  for (uint32_t k = 0; k < n; k++) {
    uint32_t row = sel ? sel[k] : k;
    ids[k] = hly_vector_is_null(v, row)
                 ? 0
                 : floor_mod(in[hly_vector_index(v, row)], p->reciprocal, p->n_partitions, p->offset);
  }
}

// Key `row` against bound `bound` by the sort orders.
static int compare_bound(const hly_partitioner *p, hly_vector *const *keys, uint32_t row, uint32_t bound) {
  for (uint32_t i = 0; i < p->n_exprs; i++) {
    const hly_vector *a = keys[i], *b = p->bounds->columns[i];
    bool a_null = hly_vector_is_null(a, row), b_null = hly_vector_is_null(b, bound);
    int c;
    if (a_null || b_null) {
      c = p->orders[i].nulls_first ? b_null - a_null : a_null - b_null;
    } else {
      c = hly_range_compare(a, row, b, bound);
      if (!p->orders[i].ascending) c = -c;
    }
    if (c) return c;
  }
  return 0;
}

// How many bounds are less than the key: RangePartitioner's search, whose bounds ascend strictly.
static void range_ids(hly_partitioner *p, hly_vector *const *keys, const uint32_t *sel, uint32_t n,
                      uint32_t *ids) {
  for (uint32_t k = 0; k < n; k++) {
    uint32_t row = sel ? sel[k] : k, low = 0, high = p->n_bounds;
    while (low < high) {
      uint32_t mid = low + (high - low) / 2;
      if (compare_bound(p, keys, row, mid) > 0) {
        low = mid + 1;
      } else {
        high = mid;
      }
    }
    ids[k] = low;
  }
}

hly_status hly_partitioner_ids(hly_partitioner *p, hly_ctx *ctx, const hly_batch *batch, uint32_t *ids) {
  uint32_t n = batch->n_sel;
  if (p->n_partitions == 1 && !p->exprs) {
    memset(ids, 0, n * sizeof *ids);
    return HLY_OK;
  }
  hly_vector *keys[64], **out = keys;
  if (p->n_exprs > 64) {
    out = hly_malloc(p->n_exprs * sizeof *out);
    HLY_CHECK_MEM(ctx, out, p->n_exprs * sizeof *out);
  }
  uint32_t n_good = n;
  hly_status st = HLY_OK;
  if (p->exprs) st = hly_exprs_eval(p->exprs, ctx, batch, out, &n_good);
  if (st == HLY_OK && n_good < n) st = hly_exprs_raise(p->exprs, ctx);
  if (st == HLY_OK) {
    if (p->kind == HALLEY__PARTITIONING_KIND__RANGE) {
      range_ids(p, out, batch->sel, n, ids);
    } else if (p->pass_through) {
      pass_ids(p, out[0], batch->sel, n, ids);
    } else {
      hash_ids(p, out, batch->sel, n, ids);
    }
  }
  if (out != keys) hly_free(out);
  return st;
}
