// PLAIN: values as they are in memory; booleans as bits; byte arrays with a length before each.
#include "parquet/values.h"

static hly_status init_any(hly_pq_values *v) {
  v->bit = 0;
  return HLY_OK;
}

static hly_status too_short(const hly_pq_values *v) {
  return hly_pq_values_fail(v, "fewer values than its header says");
}

// ---- booleans

static hly_status bool_need(hly_pq_values *v, uint32_t n) {
  return (uint64_t)(v->end - v->p) * 8 < (uint64_t)v->bit + n ? too_short(v) : HLY_OK;
}

static void bool_advance(hly_pq_values *v, uint32_t n) {
  uint32_t bit = v->bit + n;
  v->p += bit >> 3;
  v->bit = bit & 7;
}

static hly_status bool_read(hly_pq_values *v, uint32_t n, void *out) {
  HLY_TRY(bool_need(v, n));
  uint8_t *to = out;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t bit = v->bit + i;
    to[i] = v->p[bit >> 3] >> (bit & 7) & 1;
  }
  bool_advance(v, n);
  return HLY_OK;
}

static hly_status bool_skip(hly_pq_values *v, uint32_t n) {
  HLY_TRY(bool_need(v, n));
  bool_advance(v, n);
  return HLY_OK;
}

static hly_status bool_select(hly_pq_values *v, const uint32_t *sel, uint32_t n_sel, uint32_t n, void *out) {
  HLY_TRY(bool_need(v, n));
  uint8_t *to = out;
  for (uint32_t i = 0; i < n_sel; i++) {
    uint32_t bit = v->bit + sel[i];
    to[i] = v->p[bit >> 3] >> (bit & 7) & 1;
  }
  bool_advance(v, n);
  return HLY_OK;
}

const hly_pq_values_class hly_pq_plain_boolean = {init_any, bool_read, bool_skip, bool_select};

// ---- fixed width

#define FIXED(BYTES, TYPE)                                                                                   \
  static hly_status read##BYTES(hly_pq_values *v, uint32_t n, void *out) {                                   \
    if ((uint64_t)(v->end - v->p) < (uint64_t)n * BYTES) return too_short(v);                                \
    memcpy(out, v->p, (size_t)n *BYTES);                                                                     \
    v->p += (size_t)n * BYTES;                                                                               \
    return HLY_OK;                                                                                           \
  }                                                                                                          \
  static hly_status skip##BYTES(hly_pq_values *v, uint32_t n) {                                              \
    if ((uint64_t)(v->end - v->p) < (uint64_t)n * BYTES) return too_short(v);                                \
    v->p += (size_t)n * BYTES;                                                                               \
    return HLY_OK;                                                                                           \
  }                                                                                                          \
  static hly_status select##BYTES(hly_pq_values *v, const uint32_t *sel, uint32_t n_sel, uint32_t n,         \
                                  void *out) {                                                               \
    if ((uint64_t)(v->end - v->p) < (uint64_t)n * BYTES) return too_short(v);                                \
    TYPE *to = out;                                                                                          \
    for (uint32_t i = 0; i < n_sel; i++) memcpy(&to[i], v->p + (size_t)sel[i] * BYTES, BYTES);               \
    v->p += (size_t)n * BYTES;                                                                               \
    return HLY_OK;                                                                                           \
  }                                                                                                          \
  const hly_pq_values_class hly_pq_plain_fixed##BYTES = {init_any, read##BYTES, skip##BYTES, select##BYTES};

FIXED(4, uint32_t)
FIXED(8, uint64_t)

// ---- byte arrays: views into the page

static hly_status strings_read(hly_pq_values *v, uint32_t n, void *out) {
  hly_str *restrict to = out;
  const uint8_t *p = v->p, *end = v->end;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t len;
    if (end - p < 4) return too_short(v);
    memcpy(&len, p, 4);
    p += 4;
    if (len > (size_t)(end - p)) return hly_pq_values_fail(v, "a byte array is longer than the page");
    to[i] = hly_pq_view(p, len);
    p += len;
  }
  v->p = p;
  return HLY_OK;
}

static hly_status strings_skip(hly_pq_values *v, uint32_t n) {
  const uint8_t *p = v->p, *end = v->end;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t len;
    if (end - p < 4) return too_short(v);
    memcpy(&len, p, 4);
    p += 4;
    if (len > (size_t)(end - p)) return hly_pq_values_fail(v, "a byte array is longer than the page");
    p += len;
  }
  v->p = p;
  return HLY_OK;
}

static hly_status strings_select(hly_pq_values *v, const uint32_t *sel, uint32_t n_sel, uint32_t n,
                                 void *out) {
  hly_str *restrict to = out;
  uint32_t at = 0;
  for (uint32_t i = 0; i < n_sel; i++) {
    HLY_TRY(strings_skip(v, sel[i] - at));
    HLY_TRY(strings_read(v, 1, &to[i]));
    at = sel[i] + 1;
  }
  return strings_skip(v, n - at);
}

const hly_pq_values_class hly_pq_plain_strings = {init_any, strings_read, strings_skip, strings_select};

// ---- fixed-length byte arrays and INT96

static hly_status fixed_need(hly_pq_values *v, uint32_t n) {
  return (uint64_t)(v->end - v->p) / v->length < n ? too_short(v) : HLY_OK;
}

static hly_status fixed_read(hly_pq_values *v, uint32_t n, void *out) {
  HLY_TRY(fixed_need(v, n));
  hly_str *restrict to = out;
  for (uint32_t i = 0; i < n; i++) to[i] = hly_pq_view(v->p + (size_t)i * v->length, v->length);
  v->p += (size_t)n * v->length;
  return HLY_OK;
}

static hly_status fixed_skip(hly_pq_values *v, uint32_t n) {
  HLY_TRY(fixed_need(v, n));
  v->p += (size_t)n * v->length;
  return HLY_OK;
}

static hly_status fixed_select(hly_pq_values *v, const uint32_t *sel, uint32_t n_sel, uint32_t n, void *out) {
  HLY_TRY(fixed_need(v, n));
  hly_str *restrict to = out;
  for (uint32_t i = 0; i < n_sel; i++) to[i] = hly_pq_view(v->p + (size_t)sel[i] * v->length, v->length);
  v->p += (size_t)n * v->length;
  return HLY_OK;
}

const hly_pq_values_class hly_pq_plain_fixed_strings = {init_any, fixed_read, fixed_skip, fixed_select};
