// Min and Max. A new value replaces the kept one only when it is strictly better, as in Spark's least and
// greatest: of equal values that differ (0.0 and -0.0, NaNs) the first stays. NaN is greater than every
// number.
#include "aggregates/kept_value.h"

#define BETTER_NUMBER(x, y) ((x) > (y))
// x > y in Spark's order of floating-point numbers.
#define BETTER_FLOAT(x, y) ((x) > (y) || ((x) != (x) && (y) == (y)))

#define KEEP(name, T, BETTER)                                                                                \
  static hly_status max_##name(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,                 \
                               const hly_agg_rows *rows) {                                                   \
    HLY_AGG_LOOP(                                                                                            \
        T, hly_kept, a, in, rows, T kept; memcpy(&kept, &s->value, sizeof kept);                             \
        if (!s->set || BETTER(v, kept)) {                                                                    \
          memcpy(&s->value, &v, sizeof v);                                                                   \
          s->set = s->not_null = 1;                                                                          \
        });                                                                                                  \
    return HLY_OK;                                                                                           \
  }                                                                                                          \
  static hly_status min_##name(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,                 \
                               const hly_agg_rows *rows) {                                                   \
    HLY_AGG_LOOP(                                                                                            \
        T, hly_kept, a, in, rows, T kept; memcpy(&kept, &s->value, sizeof kept);                             \
        if (!s->set || BETTER(kept, v)) {                                                                    \
          memcpy(&s->value, &v, sizeof v);                                                                   \
          s->set = s->not_null = 1;                                                                          \
        });                                                                                                  \
    return HLY_OK;                                                                                           \
  }                                                                                                          \
  static bool better_##name(const hly_kept *x, const hly_kept *y, int sign) {                                \
    T p, q;                                                                                                  \
    memcpy(&p, &x->value, sizeof p);                                                                         \
    memcpy(&q, &y->value, sizeof q);                                                                         \
    return sign > 0 ? BETTER(p, q) : BETTER(q, p);                                                           \
  }
KEEP(u8, uint8_t, BETTER_NUMBER)
KEEP(i8, int8_t, BETTER_NUMBER)
KEEP(i16, int16_t, BETTER_NUMBER)
KEEP(i32, int32_t, BETTER_NUMBER)
KEEP(i64, int64_t, BETTER_NUMBER)
KEEP(i128, hly_i128_state, BETTER_NUMBER)
KEEP(f32, float, BETTER_FLOAT)
KEEP(f64, double, BETTER_FLOAT)

static hly_status keep_str(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                           const hly_agg_rows *rows) {
  for (uint32_t i = 0; i < rows->n; i++) {
    hly_kept_str *s = (hly_kept_str *)(void *)hly_agg_state(a, rows, i);
    const hly_str *v = &HLY_AGG_AT(hly_str, in, i);
    if (!s->kept.set || hly_str_compare(v, &s->kept.value.str) * a->sign > 0)
      HLY_TRY(hly_kept_set_str(env, s, v));
  }
  return HLY_OK;
}

static bool better_str(const hly_kept *x, const hly_kept *y, int sign) {
  return hly_str_compare(&x->value.str, &y->value.str) * sign > 0;
}

typedef hly_status (*update_fn)(const hly_agg *, hly_agg_env *, const hly_agg_column *, const hly_agg_rows *);
static const struct {
  update_fn min, max;
  bool (*better)(const hly_kept *, const hly_kept *, int);
} BY_PHYS[HLY_N_PHYS] = {
    [HLY_PHYS_BOOL] = {min_u8, max_u8, better_u8},     [HLY_PHYS_I8] = {min_i8, max_i8, better_i8},
    [HLY_PHYS_I16] = {min_i16, max_i16, better_i16},   [HLY_PHYS_I32] = {min_i32, max_i32, better_i32},
    [HLY_PHYS_I64] = {min_i64, max_i64, better_i64},   [HLY_PHYS_I128] = {min_i128, max_i128, better_i128},
    [HLY_PHYS_F32] = {min_f32, max_f32, better_f32},   [HLY_PHYS_F64] = {min_f64, max_f64, better_f64},
    [HLY_PHYS_STR] = {keep_str, keep_str, better_str},
};

static hly_status combine(const hly_agg *a, hly_agg_env *env, uint8_t *const *to, uint8_t *const *from,
                          uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    hly_kept *t = (hly_kept *)(void *)(to[i] + a->offset);
    const hly_kept *f = (const hly_kept *)(const void *)(from[i] + a->offset);
    if (f->set && (!t->set || BY_PHYS[a->type->phys].better(f, t, a->sign)))
      HLY_TRY(hly_kept_move(a, env, t, f));
  }
  return HLY_OK;
}

static hly_status emit(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                       hly_vector *const *out, uint32_t *n_good) {
  return hly_kept_emit(a, ctx, rows, n, out[0]);
}

static hly_status bind(hly_binder *b, hly_agg *a, int8_t sign) {
  const hly_type *type = a->type;
  if (a->n_buffers != 1 || a->n_inputs != 1 || !hly_type_equal(a->buffer_types[0], type) ||
      !hly_type_equal(a->input_types[0], type))
    return hly_bind_refuse(b, "%s has another buffer or argument than expected", a->cls);
  if (!BY_PHYS[type->phys].better) return hly_agg_refuse_type(b, a, type);
  HLY_TRY(hly_kept_bind(b, a, type));
  a->sign = sign;
  a->update = sign < 0 ? BY_PHYS[type->phys].min : BY_PHYS[type->phys].max;
  a->combine = combine;
  a->emit = emit;
  return HLY_OK;
}

hly_status hly_agg_bind_min(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  return bind(b, a, -1);
}

hly_status hly_agg_bind_max(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  return bind(b, a, 1);
}
