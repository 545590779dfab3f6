// Arithmetic, casts and date fields against plain reference code, at every CPU level, dense and selected,
// with nulls and constants.
#include "test/fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "functions/functions.h"
#include "vector/decimal.h"

typedef __int128 i128;

enum { N = 1000 };

static test_host host;
static hly_ctx ctx;
static hly_arena *arena;

static int setup(void **state) {
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  arena = hly_arena_create();
  return arena ? 0 : -1;
}
static int teardown(void **state) {
  hly_arena_destroy(arena);
  test_ctx_deinit(&ctx);
  return 0;
}

// ---- Calling a function as the evaluator does

typedef struct param {
  const char *name, *text; // text NULL: a boolean
  bool flag;
} param;

typedef struct result {
  hly_status bound;
  uint8_t out[N * 16] __attribute__((aligned(64)));
  uint8_t valid[N];
  uint32_t declined[N], n_declined;
  bool is_declined[N];
} result;

static void run(hly_fn_bind bind, const hly_type *type, uint32_t n_args, const hly_arg *args,
                const param *params, size_t n_params, hly_cpu cpu, const uint32_t *sel, uint32_t n_sel,
                result *r) {
  Halley__Param messages[4], *pointers[4];
  for (size_t i = 0; i < n_params; i++) {
    halley__param__init(&messages[i]);
    messages[i].name = (char *)params[i].name;
    if (params[i].text) {
      messages[i].value_case = HALLEY__PARAM__VALUE_STRING_VALUE;
      messages[i].string_value = (char *)params[i].text;
    } else {
      messages[i].value_case = HALLEY__PARAM__VALUE_BOOL_VALUE;
      messages[i].bool_value = params[i].flag;
    }
    pointers[i] = &messages[i];
  }
  Halley__Expr expr;
  halley__expr__init(&expr);
  expr.params = pointers;
  expr.n_params = n_params;
  const hly_type *types[2] = {args[0].type, n_args > 1 ? args[1].type : NULL};
  hly_binder b = {.ctx = &ctx, .arena = arena};
  hly_fn_call call = {
      .cls = "test", .type = type, .n_args = n_args, .arg_types = types, .expr = &expr, .cpu = cpu};
  hly_kernel k = {.nulls = HLY_NULLS_STRICT};
  memset(r, 0, sizeof *r);
  r->bound = bind(&b, &call, &k);
  if (r->bound != HLY_OK) return;
  bool nulls = k.nulls == HLY_NULLS_MAY_ADD;
  for (uint32_t i = 0; i < N; i++) {
    r->valid[i] = 1;
    for (uint32_t a = 0; a < n_args; a++) {
      if (args[a].valid) nulls = true;
      r->valid[i] &= hly_arg_valid(&args[a], i);
    }
  }
  hly_call c = {.ctx = &ctx,
                .state = k.state,
                .args = args,
                .n_args = n_args,
                .rows = {N, sel, sel ? n_sel : N},
                .type = type,
                .out = r->out,
                .valid = nulls ? r->valid : NULL,
                .declined = k.flags & HLY_KERNEL_MAY_DECLINE ? r->declined : NULL};
  assert_ok(&ctx, k.fn(&c));
  r->n_declined = c.n_declined;
  for (uint32_t i = 0; i < c.n_declined; i++) {
    assert_true(i == 0 || r->declined[i] > r->declined[i - 1]);
    r->is_declined[r->declined[i]] = true;
  }
}

static uint64_t seed = 88172645463325252ull;
static uint64_t next_random(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}

// ---- Integers

static int64_t min_of(int bits) {
  return -(int64_t)(1ull << (bits - 1));
}
static int64_t max_of(int bits) {
  return (int64_t)((1ull << (bits - 1)) - 1);
}

static int64_t edge_integer(int bits) {
  const uint64_t r = next_random();
  switch (r % 8) {
  case 0: return min_of(bits) + (int64_t)(r >> 8 & 1);
  case 1: return max_of(bits) - (int64_t)(r >> 8 & 1);
  case 2: return (int64_t)(r >> 8 & 3) - 2;
  case 3: return (int64_t)(r >> 8 & 63) - 32;
  default: return (int64_t)(r << (64 - bits)) >> (64 - bits);
  }
}

static void put(void *data, int bits, uint32_t i, int64_t v) {
  switch (bits) {
  case 8: ((int8_t *)data)[i] = (int8_t)v; break;
  case 16: ((int16_t *)data)[i] = (int16_t)v; break;
  case 32: ((int32_t *)data)[i] = (int32_t)v; break;
  default: ((int64_t *)data)[i] = v; break;
  }
}
static int64_t get(const void *data, int bits, uint32_t i) {
  switch (bits) {
  case 8: return ((const int8_t *)data)[i];
  case 16: return ((const int16_t *)data)[i];
  case 32: return ((const int32_t *)data)[i];
  default: return ((const int64_t *)data)[i];
  }
}

typedef enum outcome { VALUE, IS_NULL, DECLINED } outcome;

// What Spark does, in 128 bits. mode: 'L', 'A', 'T'.
static outcome reference(char op, int64_t a, int64_t b, int bits, char mode, int64_t *out) {
  i128 v;
  switch (op) {
  case '+': v = (i128)a + b; break;
  case '-': v = (i128)a - b; break;
  case '*': v = (i128)a * b; break;
  case '%':
  case 'p':
  case '/':
    if (b == 0) return mode == 'A' ? DECLINED : IS_NULL;
    if (op == '/') {
      v = (i128)a / b;
      if (v > max_of(bits)) {
        if (mode == 'A') return DECLINED;
        v = min_of(bits);
      }
    } else {
      v = (i128)a % b;
      if (op == 'p' && v < 0) {
        // The sum wraps in the type for int and long, and is exact in int below.
        i128 sum = v + b;
        if (bits >= 32) sum = bits == 32 ? (int32_t)sum : (int64_t)sum;
        v = sum % b;
      }
    }
    *out = (int64_t)v;
    return VALUE;
  default: abort();
  }
  if (v < min_of(bits) || v > max_of(bits)) {
    if (mode == 'A') return DECLINED;
    if (mode == 'T') return IS_NULL;
  }
  *out = (int64_t)((uint64_t)(int64_t)v << (64 - bits)) >> (64 - bits);
  return VALUE;
}

static void check_integers(char op, hly_fn_bind bind, hly_kind kind, int bits, char mode) {
  static int64_t a[N], b[N];
  static uint8_t va[N], vb[N];
  uint32_t sel[N], n_sel = 0;
  const hly_type *type = hly_type_of(kind);
  for (uint32_t i = 0; i < N; i++) {
    put(a, bits, i, edge_integer(bits));
    put(b, bits, i, edge_integer(bits));
    va[i] = next_random() % 5 != 0;
    vb[i] = next_random() % 5 != 0;
    if (next_random() % 3) sel[n_sel++] = i;
  }
  const char *name = mode == 'A' ? "ANSI" : mode == 'T' ? "TRY" : "LEGACY";
  const param params[] = {{"evalContext.evalMode", name, false}};
  static result r;
  for (int cpu = 0; cpu <= (int)hly_cpu_best(); cpu++)
    for (int form = 0; form < 16; form++) { // bits: nulls, selected, a constant, b constant
      const hly_arg args[2] = {{type, a, form & 1 ? va : NULL, form & 4 ? 0 : 1, NULL},
                               {type, b, form & 1 ? vb : NULL, form & 8 ? 0 : 1, NULL}};
      run(bind, type, 2, args, params, 1, (hly_cpu)cpu, form & 2 ? sel : NULL, n_sel, &r);
      if (r.bound == HLY_REFUSED) {
        assert_int_equal(mode, 'T');
        assert_true(op == 'p' || op == '/');
        return;
      }
      assert_int_equal(r.bound, HLY_OK);
      const uint32_t n = form & 2 ? n_sel : N;
      for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = form & 2 ? sel[k] : k;
        const uint32_t ia = form & 4 ? 0 : i, ib = form & 8 ? 0 : i;
        outcome want = IS_NULL;
        int64_t v = 0;
        if (!(form & 1) || (va[ia] && vb[ib]))
          want = reference(op, get(a, bits, ia), get(b, bits, ib), bits, mode, &v);
        const outcome got = r.is_declined[i] ? DECLINED : r.valid[i] ? VALUE : IS_NULL;
        if (got != want || (want == VALUE && get(r.out, bits, i) != v))
          fail_msg("%lld %c %lld, %d bits, mode %c, cpu %d, form %d: outcome %d, wanted %d",
                   (long long)get(a, bits, ia), op, (long long)get(b, bits, ib), bits, mode, cpu, form, got,
                   want);
      }
    }
}

static void integers(void **state) {
  static const struct {
    char op;
    hly_fn_bind bind;
  } ops[] = {{'+', hly_bind_add},
             {'-', hly_bind_subtract},
             {'*', hly_bind_multiply},
             {'%', hly_bind_remainder},
             {'p', hly_bind_pmod}};
  static const struct {
    hly_kind kind;
    int bits;
  } kinds[] = {{HLY_BYTE, 8}, {HLY_SHORT, 16}, {HLY_INT, 32}, {HLY_LONG, 64}};
  for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
      for (const char *mode = "LAT"; *mode; mode++)
        check_integers(ops[o].op, ops[o].bind, kinds[k].kind, kinds[k].bits, *mode);
  for (const char *mode = "LAT"; *mode; mode++)
    check_integers('/', hly_bind_integral_divide, HLY_LONG, 64, *mode);
}

// ---- Floats: a divisor of zero, either sign, is an error; NaN and infinity are numbers.

static void floats(void **state) {
  static const double specials[] = {0.0, -0.0, 1.0, -1.5, INFINITY, -INFINITY, NAN, 1e308, 5e-324, 7.25};
  enum { S = sizeof specials / sizeof *specials };
  static double a[N], b[N];
  for (uint32_t i = 0; i < N; i++) a[i] = specials[i % S], b[i] = specials[i / S % S];
  const hly_type *type = hly_type_of(HLY_DOUBLE);
  const hly_arg args[2] = {{type, a, NULL, 1, NULL}, {type, b, NULL, 1, NULL}};
  static result r;
  for (int cpu = 0; cpu <= (int)hly_cpu_best(); cpu++) {
    const param ansi[] = {{"evalContext.evalMode", "ANSI", false}},
                legacy[] = {{"evalContext.evalMode", "LEGACY", false}};
    const hly_fn_bind binds[] = {hly_bind_divide, hly_bind_remainder};
    for (int op = 0; op < 2; op++)
      for (int m = 0; m < 2; m++) {
        run(binds[op], type, 2, args, m ? ansi : legacy, 1, (hly_cpu)cpu, NULL, 0, &r);
        assert_int_equal(r.bound, HLY_OK);
        for (uint32_t i = 0; i < N; i++) {
          assert_int_equal(r.is_declined[i], m && b[i] == 0);
          if (!m) assert_int_equal(r.valid[i], b[i] != 0);
          if (b[i] == 0) continue;
          const double want = op ? fmod(a[i], b[i]) : a[i] / b[i], got = ((double *)r.out)[i];
          assert_true((want != want && got != got) || (want == got && signbit(want) == signbit(got)));
        }
      }
    run(hly_bind_add, type, 2, args, ansi, 1, (hly_cpu)cpu, NULL, 0, &r);
    assert_int_equal(r.n_declined, 0);
  }
}

// ---- Decimals

static i128 random_decimal(int precision) {
  const int digits = (int)(next_random() % (uint64_t)precision) + 1;
  if (next_random() % 8 == 0)
    return next_random() & 1 ? hly_pow10_i128[precision] - 1 : 1 - hly_pow10_i128[precision];
  const i128 v =
      (i128)(((unsigned __int128)next_random() << 64 | next_random()) >> 1) % hly_pow10_i128[digits];
  return next_random() & 1 ? v : -v;
}

static void decimals(void **state) {
  // Operand and result types as Spark derives them, with and without loss of precision.
  static const struct {
    char op;
    int p1, s1, p2, s2, p, s;
  } cases[] = {
      {'+', 15, 2, 15, 2, 16, 2},  {'+', 15, 2, 10, 0, 16, 2},   {'-', 1, 0, 15, 2, 16, 2},
      {'+', 18, 4, 18, 2, 21, 4},  {'+', 38, 2, 38, 2, 38, 2},   {'-', 38, 10, 38, 2, 38, 6},
      {'*', 15, 2, 16, 2, 32, 4},  {'*', 32, 4, 16, 2, 38, 6},   {'*', 38, 6, 38, 6, 38, 6},
      {'*', 7, 2, 7, 2, 15, 4},    {'/', 15, 2, 15, 2, 33, 18},  {'/', 38, 6, 10, 0, 38, 6},
      {'%', 15, 2, 10, 4, 10, 4},  {'%', 30, 2, 38, 10, 38, 10}, {'*', 38, 20, 38, 20, 38, 6},
      {'+', 38, 0, 38, 38, 38, 6},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const hly_type *t1 = hly_type_decimal(cases[c].p1, cases[c].s1),
                   *t2 = hly_type_decimal(cases[c].p2, cases[c].s2),
                   *t = hly_type_decimal(cases[c].p, cases[c].s);
    static i128 a[N], b[N];
    static int64_t na[N], nb[N];
    for (uint32_t i = 0; i < N; i++) {
      a[i] = random_decimal(cases[c].p1);
      b[i] = random_decimal(cases[c].p2);
      na[i] = (int64_t)a[i];
      nb[i] = (int64_t)b[i];
    }
    const hly_arg args[2] = {{t1, t1->phys == HLY_PHYS_I64 ? (void *)na : (void *)a, NULL, 1, NULL},
                             {t2, t2->phys == HLY_PHYS_I64 ? (void *)nb : (void *)b, NULL, 1, NULL}};
    const hly_fn_bind bind = cases[c].op == '+'   ? hly_bind_add
                             : cases[c].op == '-' ? hly_bind_subtract
                             : cases[c].op == '*' ? hly_bind_multiply
                             : cases[c].op == '/' ? hly_bind_divide
                                                  : hly_bind_remainder;
    static result r;
    for (int cpu = 0; cpu <= (int)hly_cpu_best(); cpu++)
      for (int ansi = 0; ansi < 2; ansi++) {
        const param params[] = {{"evalContext.evalMode", ansi ? "ANSI" : "LEGACY", false}};
        run(bind, t, 2, args, params, 1, (hly_cpu)cpu, NULL, 0, &r);
        assert_int_equal(r.bound, HLY_OK);
        for (uint32_t i = 0; i < N; i++) {
          i128 want = 0;
          bool fits = true, undecided = false;
          i128 x = a[i], y = b[i];
          const int s = cases[c].s1 > cases[c].s2 ? cases[c].s1 : cases[c].s2;
          if (cases[c].op == '*') {
            fits = hly_decimal_mul(x, y, cases[c].s1 + cases[c].s2, cases[c].p, cases[c].s, &want);
          } else if (cases[c].op == '/') {
            fits = y != 0 && hly_decimal_div(x, cases[c].s1, y, cases[c].s2, cases[c].p, cases[c].s, &want);
          } else if (cases[c].op == '%' && y == 0) {
            fits = false;
          } else {
            undecided = __builtin_mul_overflow(x, hly_pow10_i128[s - cases[c].s1], &x) |
                        __builtin_mul_overflow(y, hly_pow10_i128[s - cases[c].s2], &y);
            if (!undecided && cases[c].op == '%')
              want = x % y;
            else if (!undecided)
              undecided = cases[c].op == '+' ? __builtin_add_overflow(x, y, &want)
                                             : __builtin_sub_overflow(x, y, &want);
            if (!undecided) fits = hly_decimal_rescale(want, s, cases[c].p, cases[c].s, &want);
          }
          if (undecided) {
            assert_true(r.is_declined[i]);
            continue;
          }
          if (!fits) {
            assert_int_equal(r.is_declined[i], ansi);
            assert_true(ansi || !r.valid[i]);
            continue;
          }
          assert_false(r.is_declined[i]);
          assert_true(r.valid[i]);
          const i128 got = t->phys == HLY_PHYS_I64 ? ((int64_t *)r.out)[i] : ((i128 *)r.out)[i];
          if (got != want) fail_msg("case %zu row %u: wrong value", c, i);
        }
      }
  }
}

// ---- Casts, with Spark's answers written out

static void expect_cast(const hly_type *from, const void *in, const hly_type *to, const char *mode,
                        outcome want, const void *value) {
  const hly_arg arg = {from, in, NULL, 0, NULL};
  const param params[] = {{"evalMode", mode, false}};
  static result r;
  run(hly_bind_cast, to, 1, &arg, params, 1, HLY_CPU_BASELINE, NULL, 0, &r);
  assert_int_equal(r.bound, HLY_OK);
  const outcome got = r.is_declined[0] ? DECLINED : r.valid[0] ? VALUE : IS_NULL;
  assert_int_equal(got, want);
  if (want == VALUE) assert_memory_equal(r.out, value, hly_phys_size[to->phys]);
}

#define CAST(FROM, CF, X, TO, CT, MODE, WANT, Y)                                                             \
  do {                                                                                                       \
    CF x_ __attribute__((aligned(16))) = (CF)(X);                                                            \
    CT y_ __attribute__((aligned(16))) = (CT)(Y);                                                            \
    expect_cast(FROM, &x_, TO, MODE, WANT, &y_);                                                             \
  } while (0)

static void casts(void **state) {
  const hly_type *i8 = hly_type_of(HLY_BYTE), *i32 = hly_type_of(HLY_INT), *i64 = hly_type_of(HLY_LONG),
                 *f32 = hly_type_of(HLY_FLOAT), *f64 = hly_type_of(HLY_DOUBLE),
                 *bl = hly_type_of(HLY_BOOLEAN), *d52 = hly_type_decimal(5, 2),
                 *d384 = hly_type_decimal(38, 4), *d22 = hly_type_decimal(2, 2);
  CAST(i32, int32_t, 300, i8, int8_t, "LEGACY", VALUE, 44);
  CAST(i32, int32_t, 300, i8, int8_t, "ANSI", DECLINED, 0);
  CAST(i32, int32_t, -128, i8, int8_t, "ANSI", VALUE, -128);
  CAST(i64, int64_t, INT64_MIN, i32, int32_t, "LEGACY", VALUE, 0);
  CAST(f64, double, NAN, i32, int32_t, "LEGACY", VALUE, 0);
  CAST(f64, double, NAN, i32, int32_t, "ANSI", DECLINED, 0);
  CAST(f64, double, 1e30, i64, int64_t, "LEGACY", VALUE, INT64_MAX);
  CAST(f64, double, 9223372036854775808.0, i64, int64_t, "ANSI", VALUE,
       INT64_MAX); // as Spark's bound compares
  CAST(f64, double, 2147483647.9, i32, int32_t, "ANSI", VALUE, INT32_MAX);
  CAST(f64, double, 2147483648.0, i32, int32_t, "ANSI", DECLINED, 0);
  CAST(f64, double, -128.9, i8, int8_t, "ANSI", VALUE, -128);
  CAST(f32, float, 300.7f, i8, int8_t, "LEGACY", VALUE, 44);
  CAST(f64, double, -0.0, bl, uint8_t, "ANSI", VALUE, 0);
  CAST(f64, double, NAN, bl, uint8_t, "ANSI", VALUE, 1);
  CAST(bl, uint8_t, 1, d52, int64_t, "ANSI", VALUE, 100);
  CAST(bl, uint8_t, 1, d22, int64_t, "LEGACY", IS_NULL, 0);
  CAST(bl, uint8_t, 1, d22, int64_t, "ANSI", DECLINED, 0);
  CAST(i32, int32_t, 999, d52, int64_t, "ANSI", VALUE, 99900);
  CAST(i32, int32_t, 1000, d52, int64_t, "LEGACY", IS_NULL, 0);
  CAST(i32, int32_t, 1000, d52, int64_t, "TRY", DECLINED, 0);
  CAST(d52, int64_t, 12345, d384, i128, "ANSI", VALUE, 1234500);
  CAST(d384, i128, 1234550, d52, int64_t, "ANSI", VALUE, 12346);
  CAST(d384, i128, -1234550, d52, int64_t, "ANSI", VALUE, -12346);
  CAST(d384, i128, 10000000, d52, int64_t, "LEGACY", IS_NULL, 0);
  CAST(d52, int64_t, -199, i32, int32_t, "ANSI", VALUE, -1);
  CAST(d52, int64_t, 30099, i8, int8_t, "LEGACY", VALUE, 44);
  CAST(d52, int64_t, 30099, i8, int8_t, "ANSI", DECLINED, 0);
  CAST(d384, i128, hly_pow10_i128[30], i64, int64_t, "ANSI", DECLINED, 0);
  CAST(d384, i128, (i128)INT64_MAX * 10000 + 9999, i64, int64_t, "ANSI", VALUE, INT64_MAX);
  CAST(d52, int64_t, 10, f64, double, "ANSI", VALUE, 0.1);
  CAST(d384, i128, (i128)1234567890123456789 * 10000 + 1234, f64, double, "ANSI", VALUE,
       1234567890123456789.1234);
  CAST(d52, int64_t, 10, f32, float, "ANSI", VALUE, 0.1f);
  CAST(i64, int64_t, 16777217, f32, float, "ANSI", VALUE, 16777216.0f);
}

// ---- Dates

static int64_t field(hly_fn_bind bind, int32_t days) {
  const hly_arg arg = {hly_type_of(HLY_DATE), &days, NULL, 0, NULL};
  static result r;
  run(bind, hly_type_of(HLY_INT), 1, &arg, NULL, 0, HLY_CPU_BASELINE, NULL, 0, &r);
  assert_int_equal(r.bound, HLY_OK);
  return ((int32_t *)r.out)[0];
}

static void dates(void **state) {
  // days, year, month, day, day of year, day of week (Sunday 1)
  static const int32_t known[][6] = {
      {0, 1970, 1, 1, 1, 5},       {-1, 1969, 12, 31, 365, 4},      {11016, 2000, 2, 29, 60, 3},
      {11017, 2000, 3, 1, 61, 4},  {-719162, 1, 1, 1, 1, 2},        {-719163, 0, 12, 31, 366, 1},
      {19782, 2024, 2, 29, 60, 5}, {2932896, 9999, 12, 31, 365, 6}, {-25567, 1900, 1, 1, 1, 2},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const int32_t *k = known[i];
    assert_int_equal(field(hly_bind_year, k[0]), k[1]);
    assert_int_equal(field(hly_bind_month, k[0]), k[2]);
    assert_int_equal(field(hly_bind_day_of_month, k[0]), k[3]);
    assert_int_equal(field(hly_bind_day_of_year, k[0]), k[4]);
    assert_int_equal(field(hly_bind_day_of_week, k[0]), k[5]);
    assert_int_equal(field(hly_bind_week_day, k[0]), (k[5] + 5) % 7);
    assert_int_equal(field(hly_bind_quarter, k[0]), (k[2] - 1) / 3 + 1);
  }
  assert_int_equal(field(hly_bind_year, INT32_MAX), 5881580);
  assert_int_equal(field(hly_bind_year, INT32_MIN), -5877641);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(integers, setup, teardown),
      cmocka_unit_test_setup_teardown(floats, setup, teardown),
      cmocka_unit_test_setup_teardown(decimals, setup, teardown),
      cmocka_unit_test_setup_teardown(casts, setup, teardown),
      cmocka_unit_test_setup_teardown(dates, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
