// Murmur3Hash and XxHash64 (o.a.s.sql.catalyst.expressions.HashExpression): the hash of an argument is the
// seed of the next; nulls leave it as it is.
#include "base/hash.h"
#include "functions/functions.h"
#include "vector/decimal.h"

// For every row whose argument is not null: OUT[i] = HASH of its value `x`, with `seed` the hash so far.
#define LOOP(T, O, HASH)                                                                                     \
  do {                                                                                                       \
    const T *data_ = arg->data;                                                                              \
    O *out_ = call->out;                                                                                     \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      if (hly_arg_valid(arg, i)) {                                                                           \
        const T x = data_[(size_t)i * arg->stride];                                                          \
        const O seed = out_[i];                                                                              \
        out_[i] = HASH;                                                                                      \
      }                                                                                                      \
    });                                                                                                      \
  } while (0)

// The function: the seed for all rows, then one argument after the other; of type O, with functions INT, LONG
// and BYTES.
#define HASH(name, O, INT, LONG, BYTES)                                                                      \
  static hly_status name(hly_call *call) {                                                                   \
    O *out = call->out, first = *(const O *)call->state;                                                     \
    HLY_FOR_ROWS(call->rows, i, out[i] = first;);                                                            \
    for (uint32_t a = 0; a < call->n_args; a++) {                                                            \
      const hly_arg *arg = &call->args[a];                                                                   \
      switch (arg->type->phys) {                                                                             \
      case HLY_PHYS_BOOL: LOOP(uint8_t, O, INT(x != 0, seed)); break;                                        \
      case HLY_PHYS_I8: LOOP(int8_t, O, INT((uint32_t)x, seed)); break;                                      \
      case HLY_PHYS_I16: LOOP(int16_t, O, INT((uint32_t)x, seed)); break;                                    \
      case HLY_PHYS_I32: LOOP(uint32_t, O, INT(x, seed)); break;                                             \
      case HLY_PHYS_I64: LOOP(uint64_t, O, LONG(x, seed)); break;                                            \
      case HLY_PHYS_F32: LOOP(float, O, INT(hly_hashed_float(x), seed)); break;                              \
      case HLY_PHYS_F64: LOOP(double, O, LONG(hly_hashed_double(x), seed)); break;                           \
      case HLY_PHYS_STR: LOOP(hly_str, O, BYTES(hly_str_data(&x), x.len, seed)); break;                      \
      default: {                                                                                             \
        uint8_t bytes[16];                                                                                   \
        LOOP(hly_i128, O, BYTES(bytes, (size_t)hly_decimal_to_bytes(x, bytes), seed));                       \
      }                                                                                                      \
      }                                                                                                      \
    }                                                                                                        \
    call->valid = NULL;                                                                                      \
    return HLY_OK;                                                                                           \
  }
HASH(murmur3, uint32_t, hly_murmur3_int, hly_murmur3_long, hly_murmur3_bytes)
HASH(xxhash64, uint64_t, hly_xxh64_int, hly_xxh64_long, hly_xxh64_bytes)

static hly_status bind(hly_binder *b, const hly_fn_call *call, hly_kind kind, hly_kernel_fn fn,
                       hly_kernel *out) {
  if (call->type->kind != kind || !hly_fn_param(call, "seed"))
    return hly_bind_refuse(b, "%s: another result type or no seed", call->cls);
  int64_t *seed = HLY_ARENA_NEW(b->arena, int64_t); // little-endian: an int is its first half
  HLY_CHECK_MEM(b->ctx, seed, sizeof *seed);
  *seed = hly_fn_param_int(call, "seed", 0);
  out->state = seed;
  out->fn = fn;
  return HLY_OK;
}

hly_status hly_bind_murmur3_hash(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind(b, call, HLY_INT, murmur3, out);
}

hly_status hly_bind_xxhash64(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind(b, call, HLY_LONG, xxhash64, out);
}
