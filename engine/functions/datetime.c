// Fields of a date and arithmetic on days, in the proleptic Gregorian calendar (java.time.LocalDate).
#include "functions/functions.h"

// Civil date of a day number; the era arithmetic of H. Hinnant, "chrono-Compatible Low-Level Date
// Algorithms". Years start in March here, so that the leap day is the last of its year.
typedef struct civil {
  int32_t year, month, day;
} civil;

static inline civil civil_of(int32_t days) {
  const int64_t z = (int64_t)days + 719468;
  const int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const uint32_t doe = (uint32_t)(z - era * 146097);
  const uint32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const uint32_t mp = (5 * doy + 2) / 153;
  const uint32_t month = mp < 10 ? mp + 3 : mp - 9;
  return (civil){.year = (int32_t)((int64_t)yoe + era * 400 + (month <= 2)),
                 .month = (int32_t)month,
                 .day = (int32_t)(doy - (153 * mp + 2) / 5 + 1)};
}

static inline int32_t first_of_year(int32_t year) {
  const int64_t y = (int64_t)year - 1;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t yoe = y - era * 400;
  // 1 January is day 306 of the year that began in March.
  return (int32_t)(era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + 306 - 719468);
}

// 1 January 1970 was a Thursday.
static inline int32_t days_since_monday(int32_t days) {
  const int64_t d = ((int64_t)days + 3) % 7;
  return (int32_t)(d < 0 ? d + 7 : d);
}

#define FIELD(name, EXPR)                                                                                    \
  static hly_status name(hly_call *call) {                                                                   \
    HLY_UNARY_LOOPS(call, int32_t, int32_t, EXPR);                                                           \
    return HLY_OK;                                                                                           \
  }                                                                                                          \
  hly_status hly_bind_##name(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {                      \
    out->fn = name;                                                                                          \
    return HLY_OK;                                                                                           \
  }
FIELD(year, civil_of(a).year)
FIELD(quarter, (civil_of(a).month - 1) / 3 + 1)
FIELD(month, civil_of(a).month)
FIELD(day_of_month, civil_of(a).day)
FIELD(day_of_year, a - first_of_year(civil_of(a).year) + 1)
FIELD(day_of_week, (days_since_monday(a) + 1) % 7 + 1) // Sunday is 1
FIELD(week_day, days_since_monday(a))                  // Monday is 0

// Days wrap, as Java's int addition does.
#define SHIFT(name, T, OP)                                                                                   \
  static hly_status name(hly_call *call) {                                                                   \
    HLY_BINARY_LOOPS(call, int32_t, T, int32_t, a OP(int32_t) b);                                            \
    return HLY_OK;                                                                                           \
  }
SHIFT(add_i8, int8_t, +)
SHIFT(add_i16, int16_t, +)
SHIFT(add_i32, int32_t, +)
SHIFT(sub_i8, int8_t, -)
SHIFT(sub_i16, int16_t, -)
SHIFT(sub_i32, int32_t, -)

static hly_status bind_shift(hly_binder *b, const hly_fn_call *call, hly_kernel_fn i8, hly_kernel_fn i16,
                             hly_kernel_fn i32, hly_kernel *out) {
  if (call->type->kind != HLY_DATE) return hly_bind_refuse(b, "%s: the result is not a date", call->cls);
  const hly_phys p = call->arg_types[1]->phys;
  out->fn = p == HLY_PHYS_I8 ? i8 : p == HLY_PHYS_I16 ? i16 : i32;
  return HLY_OK;
}
hly_status hly_bind_date_add(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind_shift(b, call, add_i8, add_i16, add_i32, out);
}
hly_status hly_bind_date_sub(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind_shift(b, call, sub_i8, sub_i16, sub_i32, out);
}
hly_status hly_bind_date_diff(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = sub_i32;
  return HLY_OK;
}
