#include "functions/membership_table.h"

#include <string.h>

#include "vector/decimal.h"

// One pass a constant: each is a loop the compiler vectorises, and the results stay in the first-level cache.
#define SMALL(name, T, EXPR)                                                                                 \
  static hly_status name(hly_call *call) {                                                                   \
    const hly_member_state *s = call->state;                                                                 \
    const T *restrict p = call->args[0].data;                                                                \
    const size_t stride = call->args[0].stride;                                                              \
    const T *list = s->list;                                                                                 \
    uint8_t *restrict out = call->out;                                                                       \
    if (!call->rows.sel && stride) {                                                                         \
      const uint32_t n = call->rows.n;                                                                       \
      memset(out, 0, n);                                                                                     \
      for (uint32_t k = 0; k < s->n; k++) {                                                                  \
        const T b = list[k];                                                                                 \
        for (uint32_t i = 0; i < n; i++) {                                                                   \
          const T a = p[i];                                                                                  \
          out[i] |= (EXPR);                                                                                  \
        }                                                                                                    \
      }                                                                                                      \
      return HLY_OK;                                                                                         \
    }                                                                                                        \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      const T a = p[i * stride];                                                                             \
      uint8_t r = 0;                                                                                         \
      for (uint32_t k = 0; k < s->n; k++) {                                                                  \
        const T b = list[k];                                                                                 \
        r |= (EXPR);                                                                                         \
      }                                                                                                      \
      out[i] = r;                                                                                            \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }

typedef struct two {
  uint64_t a, b;
} two;

SMALL(small_8, uint8_t, a == b)
SMALL(small_16, uint16_t, a == b)
SMALL(small_32, uint32_t, a == b)
SMALL(small_64, uint64_t, a == b)
SMALL(small_128, two, (a.a == b.a) & (a.b == b.b)) // decimals, and views of inline strings
SMALL(small_f32, float, (a == b) | ((a != a) & (b != b)))
SMALL(small_f64, double, (a == b) | ((a != a) & (b != b)))

const hly_member_table HLY_CPU_NAME(hly_member) = {
    .small =
        {
            [HLY_PHYS_BOOL] = small_8,
            [HLY_PHYS_I8] = small_8,
            [HLY_PHYS_I16] = small_16,
            [HLY_PHYS_I32] = small_32,
            [HLY_PHYS_I64] = small_64,
            [HLY_PHYS_I128] = small_128,
            [HLY_PHYS_F32] = small_f32,
            [HLY_PHYS_F64] = small_f64,
            [HLY_PHYS_STR] = small_128,
        },
};
