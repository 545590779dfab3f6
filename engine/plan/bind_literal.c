// Literals from their messages.
#include <string.h>

#include "plan/binder.h"
#include "vector/decimal.h"
#include "vector/str.h"

static hly_status invalid(hly_binder *b, const hly_type *t) {
  char text[96];
  return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID,
                        "plan message: bad value for a literal of type %s",
                        hly_type_print(t, text, sizeof text));
}

// A literal of integer value: range-checked against the physical type.
static hly_status bind_int(hly_binder *b, const Halley__Literal *in, hly_literal *out) {
  if (in->value_case != HALLEY__LITERAL__VALUE_INT_VALUE) return invalid(b, out->type);
  int64_t v = in->int_value;
  switch (out->type->phys) {
  case HLY_PHYS_I8:
    if (v < INT8_MIN || v > INT8_MAX) return invalid(b, out->type);
    out->value.i8 = (int8_t)v;
    return HLY_OK;
  case HLY_PHYS_I16:
    if (v < INT16_MIN || v > INT16_MAX) return invalid(b, out->type);
    out->value.i16 = (int16_t)v;
    return HLY_OK;
  case HLY_PHYS_I32:
    if (v < INT32_MIN || v > INT32_MAX) return invalid(b, out->type);
    out->value.i32 = (int32_t)v;
    return HLY_OK;
  case HLY_PHYS_I64: out->value.i64 = v; return HLY_OK;
  default: return invalid(b, out->type);
  }
}

static hly_status bind_decimal(hly_binder *b, const Halley__Literal *in, hly_literal *out) {
  const hly_type *t = out->type;
  if (t->phys == HLY_PHYS_I64) {
    HLY_TRY(bind_int(b, in, out));
    return hly_decimal_fits(out->value.i64, t->precision) ? HLY_OK : invalid(b, t);
  }
  hly_i128 v;
  if (in->value_case == HALLEY__LITERAL__VALUE_INT_VALUE) {
    v = in->int_value;
  } else {
    if (in->value_case != HALLEY__LITERAL__VALUE_BYTES_VALUE || in->bytes_value.len != sizeof v)
      return invalid(b, t);
    memcpy(&v, in->bytes_value.data, sizeof v);
  }
  if (!hly_decimal_fits(v, t->precision)) return invalid(b, t);
  out->value.i128 = v;
  return HLY_OK;
}

static hly_status bind_bytes(hly_binder *b, const Halley__Literal *in, hly_literal *out) {
  if (in->value_case != HALLEY__LITERAL__VALUE_BYTES_VALUE) return invalid(b, out->type);
  size_t n = in->bytes_value.len;
  if (n > INT32_MAX) return invalid(b, out->type);
  const char *copy = hly_arena_copy(b->arena, n ? (const void *)in->bytes_value.data : "", n);
  HLY_CHECK_MEM(b->ctx, copy, n);
  hly_str s = hly_str_make(copy, (uint32_t)n);
  memcpy(out->value.bytes, &s, sizeof s);
  return HLY_OK;
}

static hly_status bind_row(hly_binder *b, const Halley__Literal *in, hly_literal *out) {
  if (in->value_case != HALLEY__LITERAL__VALUE_ROW_VALUE) return invalid(b, out->type);
  size_t n = in->row_value.len;
  // One null word and one field word at least; whole words, as every UnsafeRow has.
  if (n < 16 || n % 8 || n > INT32_MAX) return invalid(b, out->type);
  const char *copy = hly_arena_copy(b->arena, in->row_value.data, n);
  HLY_CHECK_MEM(b->ctx, copy, n);
  out->row = (const uint8_t *)copy;
  out->row_bytes = (uint32_t)n;
  return HLY_OK;
}

hly_status hly_bind_literal(hly_binder *b, const Halley__Literal *in, hly_literal *out) {
  if (!in) return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "plan message: a literal is missing");
  memset(out, 0, sizeof *out);
  HLY_TRY(hly_bind_type(b, in->type, &out->type));
  if (in->value_case == HALLEY__LITERAL__VALUE_NULL_VALUE) {
    if (!in->null_value) return invalid(b, out->type);
    out->is_null = true;
    return HLY_OK;
  }
  switch (out->type->kind) {
  case HLY_BOOLEAN:
    if (in->value_case != HALLEY__LITERAL__VALUE_BOOL_VALUE) return invalid(b, out->type);
    out->value.b = in->bool_value ? 1 : 0;
    return HLY_OK;
  case HLY_FLOAT:
  case HLY_DOUBLE:
    if (in->value_case != HALLEY__LITERAL__VALUE_DOUBLE_VALUE) return invalid(b, out->type);
    if (out->type->kind == HLY_FLOAT)
      out->value.f32 = (float)in->double_value;
    else
      out->value.f64 = in->double_value;
    return HLY_OK;
  case HLY_DECIMAL: return bind_decimal(b, in, out);
  case HLY_STRING:
  case HLY_BINARY: return bind_bytes(b, in, out);
  case HLY_CALENDAR_INTERVAL:
  case HLY_VARIANT:
  case HLY_ARRAY:
  case HLY_MAP:
  case HLY_STRUCT: return bind_row(b, in, out);
  case HLY_NULL: return invalid(b, out->type);
  case HLY_OTHER: {
    char text[96];
    return hly_bind_refuse(b, "literal of type %s", hly_type_print(out->type, text, sizeof text));
  }
  default: return bind_int(b, in, out);
  }
}
