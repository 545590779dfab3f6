#include "rows/row_compare.h"

#include <string.h>

bool hly_row_orderable(const hly_type *type) {
  if (type->collation) return false;
  switch (type->phys) {
  case HLY_PHYS_SPAN:
  case HLY_PHYS_INTERVAL:
  case HLY_PHYS_VARIANT: return false;
  case HLY_PHYS_NONE: return type->kind == HLY_NULL;
  default: return true;
  }
}

// Bytes of a value in the prefix; 0: strings, which take what is left.
static uint32_t prefix_bytes(const hly_type *type) {
  return type->phys == HLY_PHYS_STR ? 0 : hly_phys_size[type->phys];
}

enum { PREFIX = sizeof(hly_row_prefix) };

void hly_row_orders_init(hly_row_orders *o, const hly_row_layout *layout, const hly_row_order *orders,
                         uint32_t n) {
  *o = (hly_row_orders){.orders = orders, .n = n};
  uint32_t used = 0;
  for (; o->n_exact < n; o->n_exact++) {
    const hly_type *type = layout->fields[orders[o->n_exact].field].type;
    used += 1 + prefix_bytes(type);
    if (used > PREFIX || type->phys == HLY_PHYS_STR) return;
  }
}

#define LOAD(T, name, p)                                                                                     \
  T name;                                                                                                    \
  memcpy(&name, (p), sizeof name)

// A value as an unsigned integer in the same order, of prefix_bytes(type) bytes.
static unsigned __int128 ordered(const hly_type *type, const uint8_t *p) {
  switch (type->phys) {
  case HLY_PHYS_BOOL: return *p;
  case HLY_PHYS_I8: return (uint8_t)(*p ^ 0x80);
  case HLY_PHYS_I16: {
    LOAD(uint16_t, v, p);
    return (uint16_t)(v ^ 0x8000);
  }
  case HLY_PHYS_I32: {
    LOAD(uint32_t, v, p);
    return v ^ 0x80000000u;
  }
  case HLY_PHYS_I64: {
    LOAD(uint64_t, v, p);
    return v ^ 1ull << 63;
  }
  case HLY_PHYS_I128: {
    LOAD(unsigned __int128, v, p);
    return v ^ (unsigned __int128)1 << 127;
  }
  case HLY_PHYS_F32: {
    LOAD(float, f, p);
    if (f != f) return UINT32_MAX;
    f = f == 0 ? 0 : f;
    LOAD(uint32_t, v, &f);
    return v >> 31 ? ~v : v | 1u << 31;
  }
  case HLY_PHYS_F64: {
    LOAD(double, f, p);
    if (f != f) return UINT64_MAX;
    f = f == 0 ? 0 : f;
    LOAD(uint64_t, v, &f);
    return v >> 63 ? ~v : v | 1ull << 63;
  }
  default: return 0;
  }
}

// The first n bytes of a string, most significant first, zeros behind its end.
static unsigned __int128 string_head(const hly_str *s, uint32_t n) {
  uint8_t head[PREFIX] = {0};
  memcpy(head, hly_str_data(s), s->len < n ? s->len : n);
  unsigned __int128 v = 0;
  for (uint32_t i = 0; i < n; i++) v = v << 8 | head[i];
  return v;
}

hly_row_prefix hly_row_prefix_of(const hly_row_layout *layout, const hly_row_orders *o, const uint8_t *row) {
  unsigned __int128 key = 0;
  uint32_t left = PREFIX;
  for (uint32_t i = 0; i < o->n && left > 0; i++) {
    const hly_row_order *order = &o->orders[i];
    const hly_row_field *field = &layout->fields[order->field];
    bool is_null = hly_row_is_null(layout, row, order->field);
    left--;
    key |= (unsigned __int128)(is_null != order->nulls_first) << (8 * left);
    uint32_t n = prefix_bytes(field->type);
    bool is_string = field->type->phys == HLY_PHYS_STR;
    uint32_t take = is_string || n > left ? left : n;
    if (take > 0 && !is_null) {
      unsigned __int128 v = is_string
                                ? string_head((const hly_str *)(const void *)(row + field->offset), take)
                                : ordered(field->type, row + field->offset) >> (8 * (n - take));
      if (order->descending) v = ~v;
      if (take < PREFIX) v &= ((unsigned __int128)1 << (8 * take)) - 1;
      key |= v << (8 * (left - take));
    }
    left -= take;
    if (is_string) break;
  }
  return (hly_row_prefix){(uint64_t)(key >> 64), (uint64_t)key};
}

static int compare_values(const hly_row_field *field, const uint8_t *a, const uint8_t *b) {
  if (field->type->phys == HLY_PHYS_STR)
    return hly_str_compare((const hly_str *)(const void *)(a + field->offset),
                           (const hly_str *)(const void *)(b + field->offset));
  unsigned __int128 x = ordered(field->type, a + field->offset), y = ordered(field->type, b + field->offset);
  return (x > y) - (x < y);
}

int hly_row_compare(const hly_row_layout *layout, const hly_row_orders *o, uint32_t from, const uint8_t *a,
                    const uint8_t *b) {
  for (uint32_t i = from; i < o->n; i++) {
    const hly_row_order *order = &o->orders[i];
    bool a_null = hly_row_is_null(layout, a, order->field), b_null = hly_row_is_null(layout, b, order->field);
    if (a_null || b_null) {
      if (a_null == b_null) continue;
      return a_null == order->nulls_first ? -1 : 1;
    }
    int c = compare_values(&layout->fields[order->field], a, b);
    if (c) return order->descending ? -c : c;
  }
  return 0;
}
