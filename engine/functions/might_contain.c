// BloomFilterMightContain: whether a long may be in one of Spark's Bloom filters, a constant of the query.
#include <string.h>

#include "base/bloom_filter.h"
#include "functions/functions.h"

static hly_status might_contain(hly_call *call) {
  const hly_bloom_filter *f = call->state;
  const hly_arg *value = &call->args[1];
  uint8_t *out = call->out;
  HLY_FOR_ROWS(call->rows, i, out[i] = hly_bloom_filter_has_long(f, HLY_ARG(int64_t, value, i)););
  return HLY_OK;
}

static uint32_t select_contained(const hly_call *call, uint32_t *out) {
  const hly_bloom_filter *f = call->state;
  const hly_arg *value = &call->args[1];
  uint32_t n = 0;
  HLY_FOR_ROWS(call->rows, i, {
    out[n] = i;
    n += hly_arg_valid(value, i) && hly_bloom_filter_has_long(f, HLY_ARG(int64_t, value, i));
  });
  return n;
}

// There is no filter: what would have filled it saw no value.
static hly_status unknown(hly_call *call) {
  HLY_FOR_ROWS(call->rows, i, call->valid[i] = 0;);
  return HLY_OK;
}

hly_status hly_bind_might_contain(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  const hly_literal *bytes = call->literals[0];
  hly_str view;
  out->flags |= HLY_KERNEL_COSTLY;
  out->fn = might_contain;
  if (!bytes) // a subquery that has not run: nothing is evaluated before it has
    return strcmp(call->expr->children[0]->cls, "ScalarSubquery")
               ? hly_bind_refuse(b, "%s: the Bloom filter is no constant", call->cls)
               : HLY_OK;
  if (bytes->is_null) {
    out->nulls = HLY_NULLS_MAY_ADD;
    out->fn = unknown;
    return HLY_OK;
  }
  hly_bloom_filter *f = HLY_ARENA_NEW(b->arena, hly_bloom_filter);
  HLY_CHECK_MEM(b->ctx, f, sizeof *f);
  memcpy(&view, bytes->value.bytes, sizeof view);
  if (!hly_bloom_filter_read((uint8_t *)(uintptr_t)hly_str_data(&view), view.len, f))
    return hly_bind_refuse(b, "%s: the bytes are no Bloom filter", call->cls);
  out->state = f;
  out->select = select_contained;
  return HLY_OK;
}
