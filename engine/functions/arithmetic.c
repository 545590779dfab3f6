// Binding of arithmetic: which kernel computes a call, by type and evaluation mode.
#include "functions/arithmetic.h"

#include <string.h>

#include "functions/functions.h"
#include "vector/decimal.h"

static const hly_arith_table *const arith[] = {&hly_arith_baseline, &hly_arith_v3, &hly_arith_v4};
static const hly_decimal_table *const decimal[] = {&hly_decimal_baseline, &hly_decimal_v3, &hly_decimal_v4};

hly_status hly_arith_bind_mode(hly_binder *b, const hly_fn_call *call, const char *param,
                               hly_arith_mode *out) {
  const char *mode = hly_fn_param_string(call, param, "");
  out->ansi = !strcmp(mode, "ANSI");
  out->try_ = !strcmp(mode, "TRY");
  if (!out->ansi && !out->try_ && strcmp(mode, "LEGACY"))
    return hly_bind_refuse(b, "%s: evaluation mode \"%s\" has no native form", call->cls, mode);
  return HLY_OK;
}

// Sets how the kernel treats its errors: by null, or by declining the row.
static hly_status set_errors(hly_binder *b, hly_arith_errors errors, hly_kernel *out) {
  hly_arith_state *st = HLY_ARENA_NEW(b->arena, hly_arith_state);
  HLY_CHECK_MEM(b->ctx, st, sizeof *st);
  st->errors = errors;
  out->state = st;
  if (errors == HLY_ARITH_NULL)
    out->nulls = HLY_NULLS_MAY_ADD;
  else
    out->flags |= HLY_KERNEL_MAY_DECLINE;
  return HLY_OK;
}

static hly_status choose(hly_binder *b, const hly_fn_call *call, hly_arith_op op, hly_kernel *out) {
  char text[64];
  out->fn = arith[call->cpu]->fn[op][call->arg_types[0]->phys];
  if (!out->fn)
    return hly_bind_refuse(b, "%s: type %s has no native form", call->cls,
                           hly_type_print(call->arg_types[0], text, sizeof text));
  return HLY_OK;
}

static hly_status check_same(hly_binder *b, const hly_fn_call *call) {
  if (!hly_type_equal(call->arg_types[0], call->type))
    return hly_bind_refuse(b, "%s: the result's type differs from the operands'", call->cls);
  return HLY_OK;
}

// ---- Decimals

static bool is_wide(const hly_type *t) {
  return t->phys == HLY_PHYS_I128;
}

static int max_int(int a, int b) {
  return a > b ? a : b;
}

static hly_status bind_decimal(hly_binder *b, const hly_fn_call *call, hly_decimal_op op,
                               hly_arith_errors errors, hly_kernel *out) {
  const hly_type *x = call->arg_types[0], *y = call->arg_types[1], *r = call->type;
  if (r->kind != HLY_DECIMAL) return hly_bind_refuse(b, "%s: decimals with another result type", call->cls);
  hly_decimal_state *st = HLY_ARENA_NEW(b->arena, hly_decimal_state);
  HLY_CHECK_MEM(b->ctx, st, sizeof *st);
  const int s = max_int(x->scale, y->scale);
  const int digits = op == HLY_DECIMAL_MUL
                         ? x->precision + y->precision
                         : max_int(x->precision - x->scale, y->precision - y->scale) + s + 1;
  *st = (hly_decimal_state){
      .errors = errors,
      .m1 = hly_pow10_i128[s - x->scale],
      .m2 = hly_pow10_i128[s - y->scale],
      .from_scale = op == HLY_DECIMAL_MUL ? x->scale + y->scale : s,
      .precision = r->precision,
      .scale = r->scale,
      .s1 = x->scale,
      .s2 = y->scale,
  };
  out->state = st;
  const bool exact = st->from_scale == r->scale && digits <= r->precision;
  if (exact) {
    out->fn = decimal[call->cpu]->exact[op][is_wide(x)][is_wide(y)][is_wide(r)];
    return HLY_OK;
  }
  out->fn = decimal[call->cpu]->checked[op][is_wide(x)][is_wide(y)][is_wide(r)];
  out->flags |= HLY_KERNEL_MAY_DECLINE;
  if (errors == HLY_ARITH_NULL) out->nulls = HLY_NULLS_MAY_ADD;
  return HLY_OK;
}

// Add, Subtract, Multiply. TRY and ANSI check; LEGACY wraps integers and makes decimal overflow null.
// Intervals are checked in every mode.
static hly_status bind_ring(hly_binder *b, const hly_fn_call *call, hly_arith_op plain, hly_arith_op checked,
                            hly_decimal_op dec, hly_kernel *out) {
  hly_arith_mode mode;
  HLY_TRY(hly_arith_bind_mode(b, call, "evalContext.evalMode", &mode));
  const hly_kind kind = call->arg_types[0]->kind;
  if (kind == HLY_DECIMAL)
    return bind_decimal(b, call, dec, mode.ansi ? HLY_ARITH_DECLINE : HLY_ARITH_NULL, out);
  HLY_TRY(check_same(b, call));
  const bool interval = kind == HLY_YEAR_MONTH_INTERVAL || kind == HLY_DAY_TIME_INTERVAL;
  const bool floating = kind == HLY_FLOAT || kind == HLY_DOUBLE;
  if (floating || (!mode.ansi && !mode.try_ && !interval)) return choose(b, call, plain, out);
  HLY_TRY(set_errors(b, mode.try_ ? HLY_ARITH_NULL : HLY_ARITH_DECLINE, out));
  return choose(b, call, checked, out);
}

hly_status hly_bind_add(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind_ring(b, call, HLY_ARITH_ADD, HLY_ARITH_ADD_CHECK, HLY_DECIMAL_ADD, out);
}
hly_status hly_bind_subtract(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind_ring(b, call, HLY_ARITH_SUB, HLY_ARITH_SUB_CHECK, HLY_DECIMAL_SUB, out);
}
hly_status hly_bind_multiply(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind_ring(b, call, HLY_ARITH_MUL, HLY_ARITH_MUL_CHECK, HLY_DECIMAL_MUL, out);
}

// ---- Division and its kin. In Spark only ANSI raises: TRY is LEGACY's null.

static __int128 load(const hly_arg *arg, uint32_t row) {
  return arg->type->phys == HLY_PHYS_I128 ? HLY_ARG(__int128, arg, row) : HLY_ARG(int64_t, arg, row);
}
static void store(const hly_call *call, uint32_t row, __int128 v) {
  if (call->type->phys == HLY_PHYS_I128)
    ((__int128 *)call->out)[row] = v;
  else
    ((int64_t *)call->out)[row] = (int64_t)v;
}

static hly_status decimal_divide(hly_call *call) {
  const hly_decimal_state *st = call->state;
  HLY_FOR_ROWS(call->rows, i, {
    if (!hly_call_wants(call, i)) continue;
    const __int128 a = load(&call->args[0], i), d = load(&call->args[1], i);
    __int128 r;
    if (d != 0 && hly_decimal_div(a, st->s1, d, st->s2, st->precision, st->scale, &r))
      store(call, i, r);
    else
      hly_arith_error(call, st->errors, i);
  });
  return HLY_OK;
}

// Remainder of unscaled values brought to one scale: the scale of the result, whatever its precision.
static hly_status decimal_remainder(hly_call *call) {
  const hly_decimal_state *st = call->state;
  HLY_FOR_ROWS(call->rows, i, {
    if (!hly_call_wants(call, i)) continue;
    __int128 a, d, r;
    const __int128 divisor = load(&call->args[1], i);
    if (divisor == 0)
      hly_arith_error(call, st->errors, i);
    else if (__builtin_mul_overflow(load(&call->args[0], i), st->m1, &a) |
             __builtin_mul_overflow(divisor, st->m2, &d))
      hly_decline(call, i);
    else if (r = a % d, hly_decimal_fits(r, st->precision))
      store(call, i, r);
    else
      hly_arith_error(call, st->errors, i);
  });
  return HLY_OK;
}

// Integral part of the quotient as a long: its low 64 bits, as BigDecimal.longValue gives them.
static hly_status decimal_integral_divide(hly_call *call) {
  const hly_decimal_state *st = call->state;
  HLY_FOR_ROWS(call->rows, i, {
    if (!hly_call_wants(call, i)) continue;
    __int128 a, d;
    const __int128 divisor = load(&call->args[1], i);
    if (divisor == 0)
      hly_arith_error(call, st->errors, i);
    else if (__builtin_mul_overflow(load(&call->args[0], i), st->m1, &a) |
             __builtin_mul_overflow(divisor, st->m2, &d))
      hly_decline(call, i);
    else
      ((int64_t *)call->out)[i] = (int64_t)(a / d);
  });
  return HLY_OK;
}

// `fn` over decimals. Remainder and integral division go through a quotient of `MathContext(39)` digits in
// Spark, which fails where the quotient has more: refused when the types allow that.
static hly_status bind_decimal_division(hly_binder *b, const hly_fn_call *call, hly_kernel_fn fn,
                                        hly_arith_errors errors, hly_kernel *out) {
  const hly_type *x = call->arg_types[0], *y = call->arg_types[1];
  if (fn != decimal_divide && x->precision - x->scale + y->scale > 38)
    return hly_bind_refuse(b, "%s: quotients of more than 38 digits have no native form", call->cls);
  if (fn != decimal_integral_divide && call->type->kind != HLY_DECIMAL)
    return hly_bind_refuse(b, "%s: decimals with another result type", call->cls);
  const int s = max_int(x->scale, y->scale);
  if (fn == decimal_remainder && call->type->scale != s)
    return hly_bind_refuse(b, "%s: a result of another scale has no native form", call->cls);
  hly_decimal_state *st = HLY_ARENA_NEW(b->arena, hly_decimal_state);
  HLY_CHECK_MEM(b->ctx, st, sizeof *st);
  *st = (hly_decimal_state){
      .errors = errors,
      .m1 = hly_pow10_i128[s - x->scale],
      .m2 = hly_pow10_i128[s - y->scale],
      .precision = call->type->precision,
      .scale = call->type->scale,
      .s1 = x->scale,
      .s2 = y->scale,
  };
  out->state = st;
  out->fn = fn;
  out->flags |= HLY_KERNEL_MAY_DECLINE;
  if (errors == HLY_ARITH_NULL) out->nulls = HLY_NULLS_MAY_ADD;
  return HLY_OK;
}

static hly_status bind_division(hly_binder *b, const hly_fn_call *call, hly_arith_op op, hly_kernel_fn dec,
                                const hly_type *type, hly_kernel *out) {
  hly_arith_mode mode;
  HLY_TRY(hly_arith_bind_mode(b, call, "evalContext.evalMode", &mode));
  const hly_arith_errors errors = mode.ansi ? HLY_ARITH_DECLINE : HLY_ARITH_NULL;
  if (call->arg_types[0]->kind == HLY_DECIMAL && dec) return bind_decimal_division(b, call, dec, errors, out);
  if (!hly_type_equal(call->type, type ? type : call->arg_types[0]))
    return hly_bind_refuse(b, "%s: the result's type differs from the operands'", call->cls);
  HLY_TRY(set_errors(b, errors, out));
  return choose(b, call, op, out);
}

hly_status hly_bind_divide(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind_division(b, call, HLY_ARITH_DIV, decimal_divide, NULL, out);
}
hly_status hly_bind_integral_divide(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  // TRY raises and catches: the minimum by -1 is then null, not the wrapped value.
  hly_arith_mode mode;
  HLY_TRY(hly_arith_bind_mode(b, call, "evalContext.evalMode", &mode));
  if (mode.try_) return hly_bind_refuse(b, "%s: mode TRY has no native form", call->cls);
  return bind_division(b, call, HLY_ARITH_IDIV, decimal_integral_divide, hly_type_of(HLY_LONG), out);
}
hly_status hly_bind_remainder(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind_division(b, call, HLY_ARITH_REM, decimal_remainder, NULL, out);
}
hly_status hly_bind_pmod(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  // Spark's Pmod raises on zero in mode TRY too, outside of what it catches.
  hly_arith_mode mode;
  HLY_TRY(hly_arith_bind_mode(b, call, "evalContext.evalMode", &mode));
  if (mode.try_) return hly_bind_refuse(b, "%s: mode TRY has no native form", call->cls);
  // The sum of divisor and remainder may have more digits than the result's type, whose overflow counts.
  if (call->type->kind == HLY_DECIMAL || call->arg_types[0]->kind == HLY_DECIMAL)
    return hly_bind_refuse(b, "%s: decimals have no native form", call->cls);
  return bind_division(b, call, HLY_ARITH_PMOD, NULL, NULL, out);
}

// ---- One operand

static hly_status bind_sign(hly_binder *b, const hly_fn_call *call, hly_arith_op plain, hly_arith_op checked,
                            hly_kernel *out) {
  const hly_kind kind = call->arg_types[0]->kind;
  const bool interval = kind == HLY_YEAR_MONTH_INTERVAL || kind == HLY_DAY_TIME_INTERVAL;
  const bool floating = kind == HLY_FLOAT || kind == HLY_DOUBLE;
  if (kind == HLY_DECIMAL && call->arg_types[0]->phys == HLY_PHYS_I128) out->flags |= HLY_KERNEL_MAY_DECLINE;
  if (kind == HLY_DECIMAL || floating || (!interval && !hly_fn_param_bool(call, "failOnError", true)))
    return choose(b, call, plain, out);
  HLY_TRY(set_errors(b, HLY_ARITH_DECLINE, out));
  return choose(b, call, checked, out);
}

hly_status hly_bind_negate(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind_sign(b, call, HLY_ARITH_NEG, HLY_ARITH_NEG_CHECK, out);
}
hly_status hly_bind_abs(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind_sign(b, call, HLY_ARITH_ABS, HLY_ARITH_ABS_CHECK, out);
}
