// Kernels: every CPU level against a plain loop, bit for bit; strings against answers of Spark's own code.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "expr/expr.h"
#include "expr_build.h"
#include "fixture.h"
#include "functions/string_find.h"
#include "vector/decimal.h"
#include "vector/str.h"

typedef struct fixture {
  hly_arena *arena;
  expr_builder b;
  test_host host;
  hly_ctx ctx;
  hly_field fields[3];
  hly_schema schema;
  hly_batch *batch;
} fixture;

static void begin(fixture *f, const hly_type *a, const hly_type *b, const hly_type *c, uint32_t n) {
  memset(f, 0, sizeof *f);
  f->arena = hly_arena_create();
  assert_non_null(f->arena);
  f->b.arena = f->arena;
  test_host_init(&f->host, -1);
  test_ctx_init(&f->ctx, &f->host);
  const hly_type *types[3] = {a, b, c};
  for (int i = 0; i < 3; i++) f->fields[i] = (hly_field){.name = "c", .type = types[i], .nullable = true};
  f->schema = (hly_schema){3, f->fields};
  assert_ok(&f->ctx, hly_batch_create(&f->ctx, f->arena, &f->schema, &f->batch));
  for (int i = 0; i < 3; i++) {
    hly_vector *v = f->batch->columns[i];
    assert_ok(&f->ctx, hly_vector_reset(&f->ctx, v, n));
    memset(v->values, 0, (size_t)n * hly_phys_size[v->type->phys]);
  }
  hly_batch_set_rows(f->batch, n);
}

static void end(fixture *f) {
  hly_arena_destroy(f->arena);
  test_ctx_deinit(&f->ctx);
}

static hly_exprs *bind(fixture *f, Halley__Expr *e) {
  hly_binder b = {.ctx = &f->ctx, .arena = f->arena};
  hly_exprs *p = NULL;
  hly_status st = hly_exprs_bind(&b, 1, (const Halley__Expr *const *)&e, 1, &f->schema, &p);
  for (uint32_t i = 0; i < b.n_reasons; i++) print_message("reason: %s\n", b.reasons[i]);
  assert_ok(&f->ctx, st);
  assert_ok(&f->ctx, hly_exprs_open(p, &f->ctx, 0, NULL));
  return p;
}

// ---- comparisons

static uint64_t rng;
static uint64_t rnd(void) {
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return rng;
}

static const char *const texts[] = {"",    "a", "ab", "abc", "abcdefghijkl", "abcdefghijklm", "abcdefghijkln",
                                    "\xff"};

static void fill(const hly_type *t, void *at) {
  static const double floats[] = {0.0, -0.0, 1.0, -1.0, NAN, INFINITY, -INFINITY, 3.5};
  uint64_t r = rnd() >> 20;
  int64_t small = (int64_t)(r % 7) - 3;
  switch (t->phys) {
  case HLY_PHYS_BOOL: *(uint8_t *)at = r & 1; break;
  case HLY_PHYS_I8: *(int8_t *)at = r % 5 ? (int8_t)small : INT8_MIN; break;
  case HLY_PHYS_I16: *(int16_t *)at = r % 5 ? (int16_t)small : INT16_MAX; break;
  case HLY_PHYS_I32: *(int32_t *)at = r % 5 ? (int32_t)small : INT32_MIN; break;
  case HLY_PHYS_I64: *(int64_t *)at = r % 5 || t->kind == HLY_DECIMAL ? small : INT64_MAX; break;
  case HLY_PHYS_I128: *(hly_i128 *)at = (r % 5 ? (hly_i128)small : hly_pow10_i128[t->precision] - 1); break;
  case HLY_PHYS_F32: *(float *)at = (float)floats[r % 8]; break;
  case HLY_PHYS_F64: *(double *)at = floats[r % 8]; break;
  default: *(hly_str *)at = hly_str_make(texts[r % 8], (uint32_t)strlen(texts[r % 8]));
  }
}

static int order(const hly_type *t, const void *a, const void *b) {
#define ORDER(T) return (*(const T *)a > *(const T *)b) - (*(const T *)a < *(const T *)b)
#define ORDER_FLOAT(T)                                                                                       \
  {                                                                                                          \
    T x = *(const T *)a, y = *(const T *)b;                                                                  \
    return isnan(x) || isnan(y) ? !!isnan(x) - !!isnan(y) : (x > y) - (x < y);                               \
  }
  switch (t->phys) {
  case HLY_PHYS_BOOL: ORDER(uint8_t);
  case HLY_PHYS_I8: ORDER(int8_t);
  case HLY_PHYS_I16: ORDER(int16_t);
  case HLY_PHYS_I32: ORDER(int32_t);
  case HLY_PHYS_I64: ORDER(int64_t);
  case HLY_PHYS_I128: ORDER(hly_i128);
  case HLY_PHYS_F32: ORDER_FLOAT(float)
  case HLY_PHYS_F64: ORDER_FLOAT(double)
  default: return hly_str_compare(a, b);
  }
}

static bool holds(int op, int c) {
  return op == 0 ? c == 0 : op == 1 ? c < 0 : op == 2 ? c <= 0 : op == 3 ? c > 0 : op == 4 ? c >= 0 : c == 0;
}

static const char *const ops[] = {"EqualTo",     "LessThan",           "LessThanOrEqual",
                                  "GreaterThan", "GreaterThanOrEqual", "EqualNullSafe"};

static void check_comparison(const hly_type *t, int op, int shape, uint32_t n, bool nulls, bool selected) {
  fixture f;
  rng = 88172645463325252ull + (uint64_t)op * 31 + n;
  begin(&f, t, t, hly_type_of(HLY_BOOLEAN), n);
  uint32_t size = hly_phys_size[t->phys];
  for (int c = 0; c < 2; c++) {
    hly_vector *v = f.batch->columns[c];
    for (uint32_t i = 0; i < n; i++) fill(t, (char *)v->values + (size_t)i * size);
    if (shape == c + 1) { // a constant on this side
      v->encoding = HLY_CONST;
      continue;
    }
    if (!nulls) continue;
    assert_ok(&f.ctx, hly_vector_need_validity(&f.ctx, v));
    for (uint32_t i = 0; i < n; i++)
      if (rnd() >> 30 & 1) hly_bits_clear(v->validity, i);
  }
  uint32_t *sel = HLY_ARENA_NEW_N(f.arena, uint32_t, n + 1u),
           *got = HLY_ARENA_NEW_N(f.arena, uint32_t, n + 1u), k = 0;
  for (uint32_t i = 0; i < n; i++)
    if (rnd() >> 30 & 1) sel[k++] = i;
  if (selected) {
    f.batch->sel = sel;
    f.batch->n_sel = k;
  }
  hly_exprs *p = bind(&f, x_call(&f.b, ops[op], hly_type_of(HLY_BOOLEAN), 2, x_col(&f.b, 0, t, true),
                                 x_col(&f.b, 1, t, true)));
  hly_vector *out;
  uint32_t n_good, n_got, n_want = 0;
  bool raised;
  assert_ok(&f.ctx, hly_exprs_eval(p, &f.ctx, f.batch, &out, &n_good));
  assert_int_equal(n_good, f.batch->n_sel);
  const hly_vector *a = f.batch->columns[0], *b = f.batch->columns[1];
  bool *want = HLY_ARENA_NEW_N(f.arena, bool, n + 1u);
  for (uint32_t j = 0; j < f.batch->n_sel; j++) {
    uint32_t i = selected ? sel[j] : j;
    bool na = hly_vector_is_null(a, i), nb = hly_vector_is_null(b, i);
    int c = order(t, (const char *)a->values + (size_t)hly_vector_index(a, i) * size,
                  (const char *)b->values + (size_t)hly_vector_index(b, i) * size);
    bool null = op < 5 && (na || nb);
    want[i] = op < 5 || !(na || nb) ? !null && holds(op, c) : na && nb;
    assert_int_equal(hly_vector_is_null(out, i), null);
    if (!null) assert_int_equal(((const uint8_t *)out->values)[hly_vector_index(out, i)], want[i]);
  }
  assert_ok(&f.ctx, hly_exprs_filter(p, &f.ctx, f.batch, got, &n_got, &raised));
  for (uint32_t j = 0; j < f.batch->n_sel; j++) {
    uint32_t i = selected ? sel[j] : j;
    if (want[i]) assert_int_equal(got[n_want++], i);
  }
  assert_int_equal(n_got, n_want);
  hly_exprs_close(p);
  end(&f);
}

static void test_comparisons(void **state) {
  static const uint32_t sizes[] = {0, 1, 15, 64, 131};
  hly_cpu before = hly_cpu_level();
  const hly_type *types[] = {hly_type_of(HLY_BOOLEAN), hly_type_of(HLY_BYTE),   hly_type_of(HLY_SHORT),
                             hly_type_of(HLY_INT),     hly_type_of(HLY_LONG),   hly_type_of(HLY_FLOAT),
                             hly_type_of(HLY_DOUBLE),  hly_type_decimal(12, 2), hly_type_decimal(38, 5),
                             hly_type_of(HLY_STRING),  hly_type_of(HLY_DATE)};
  for (int level = 0; level <= (int)hly_cpu_best(); level++) {
    hly_cpu_force((hly_cpu)level);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
      for (int op = 0; op < 6; op++)
        for (int shape = 0; shape < 3; shape++)
          for (int k = 0; k < 5; k++)
            for (int v = 0; v < 4; v++) check_comparison(types[t], op, shape, sizes[k], v & 1, v & 2);
  }
  hly_cpu_force(before);
}

// Decimals of unlike scale: 1.5 against 1.50, and products that leave 128 bits.
static void test_mixed_decimals(void **state) {
  const hly_type *narrow = hly_type_decimal(10, 1), *wide = hly_type_decimal(38, 37);
  static const struct {
    int64_t narrow;
    hly_i128 wide_tenths; // in units of 0.1
    int order;
  } cases[] = {{15, 15, 0},         {14, 15, -1},           {-14, -15, 1},
               {9999999999, 15, 1}, {-9999999999, -15, -1}, {0, 0, 0}};
  fixture f;
  uint32_t n = sizeof cases / sizeof *cases;
  begin(&f, narrow, wide, hly_type_of(HLY_BOOLEAN), n);
  for (uint32_t i = 0; i < n; i++) {
    ((int64_t *)f.batch->columns[0]->values)[i] = cases[i].narrow;
    ((hly_i128 *)f.batch->columns[1]->values)[i] = cases[i].wide_tenths * hly_pow10_i128[36];
  }
  for (int op = 0; op < 5; op++)
    for (int flip = 0; flip < 2; flip++) {
      Halley__Expr *a = x_col(&f.b, 0, narrow, true), *b = x_col(&f.b, 1, wide, true);
      hly_exprs *p = bind(&f, x_call(&f.b, ops[op], hly_type_of(HLY_BOOLEAN), 2, flip ? b : a, flip ? a : b));
      hly_vector *out;
      uint32_t n_good;
      assert_ok(&f.ctx, hly_exprs_eval(p, &f.ctx, f.batch, &out, &n_good));
      for (uint32_t i = 0; i < n; i++)
        assert_int_equal(((const uint8_t *)out->values)[i],
                         holds(op, flip ? -cases[i].order : cases[i].order));
      hly_exprs_close(p);
    }
  end(&f);
}

// ---- IN

static void check_in(const hly_type *t, uint32_t n_list, bool null_in_list) {
  fixture f;
  const uint32_t n = 200;
  rng = 4101842887655102017ull + n_list;
  begin(&f, t, t, t, n);
  uint32_t size = hly_phys_size[t->phys];
  hly_vector *v = f.batch->columns[0];
  for (uint32_t i = 0; i < n; i++) fill(t, (char *)v->values + (size_t)i * size);
  assert_ok(&f.ctx, hly_vector_need_validity(&f.ctx, v));
  for (uint32_t i = 0; i < n; i += 7) {
    hly_bits_clear(v->validity, i);
    if (t->phys == HLY_PHYS_STR) ((hly_str *)v->values)[i] = (hly_str){.len = 1000};
  }
  Halley__Expr *c[24];
  char *list = hly_arena_alloc(f.arena, 24 * 16);
  c[0] = x_col(&f.b, 0, t, true);
  for (uint32_t k = 0; k < n_list; k++) {
    char *at = list + k * 16;
    fill(t, at);
    switch (t->phys) {
    case HLY_PHYS_BOOL: c[k + 1] = x_bool(&f.b, *at); break;
    case HLY_PHYS_I8: c[k + 1] = x_int(&f.b, t, *(int8_t *)at); break;
    case HLY_PHYS_I16: c[k + 1] = x_int(&f.b, t, *(int16_t *)at); break;
    case HLY_PHYS_I32: c[k + 1] = x_int(&f.b, t, *(int32_t *)at); break;
    case HLY_PHYS_I64: c[k + 1] = x_int(&f.b, t, *(int64_t *)at); break;
    case HLY_PHYS_I128: c[k + 1] = x_bytes(&f.b, t, at, 16); break;
    case HLY_PHYS_F32: c[k + 1] = x_float(&f.b, t, *(float *)at); break;
    case HLY_PHYS_F64: c[k + 1] = x_float(&f.b, t, *(double *)at); break;
    default: c[k + 1] = x_bytes(&f.b, t, hly_str_data((hly_str *)at), ((hly_str *)at)->len);
    }
  }
  if (null_in_list) c[n_list + 1] = x_null(&f.b, t);
  hly_exprs *p = bind(&f, x_call_n(&f.b, "In", hly_type_of(HLY_BOOLEAN), n_list + 1 + null_in_list, c));
  hly_vector *out;
  uint32_t n_good;
  assert_ok(&f.ctx, hly_exprs_eval(p, &f.ctx, f.batch, &out, &n_good));
  for (uint32_t i = 0; i < n; i++) {
    bool found = false, null = hly_vector_is_null(v, i);
    for (uint32_t k = 0; k < n_list && !null; k++)
      found |= order(t, (char *)v->values + (size_t)i * size, list + k * 16) == 0;
    null |= !found && null_in_list;
    assert_int_equal(hly_vector_is_null(out, i), null);
    if (!null) assert_int_equal(((const uint8_t *)out->values)[i], found);
  }
  hly_exprs_close(p);
  end(&f);
}

static void test_in(void **state) {
  hly_cpu before = hly_cpu_level();
  const hly_type *types[] = {hly_type_of(HLY_BOOLEAN), hly_type_of(HLY_BYTE),   hly_type_of(HLY_SHORT),
                             hly_type_of(HLY_INT),     hly_type_of(HLY_LONG),   hly_type_of(HLY_FLOAT),
                             hly_type_of(HLY_DOUBLE),  hly_type_decimal(12, 2), hly_type_decimal(38, 5),
                             hly_type_of(HLY_STRING),  hly_type_of(HLY_BINARY)};
  for (int level = 0; level <= (int)hly_cpu_best(); level++) {
    hly_cpu_force((hly_cpu)level);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
      for (uint32_t n = 1; n <= 20; n += n < 3 ? 1 : 6)
        for (int null = 0; null < 2; null++) check_in(types[t], n, null);
  }
  hly_cpu_force(before);
}

// ---- strings against Spark

static uint32_t unhex(const char *text, uint8_t *out) { // "x6162"
  uint32_t n = 0;
  for (text++; text[0] && text[1]; text += 2) {
    char pair[3] = {text[0], text[1], 0};
    out[n++] = (uint8_t)strtoul(pair, NULL, 16);
  }
  return n;
}

static hly_str keep(fixture *f, const char *hex) {
  uint8_t bytes[256];
  uint32_t n = unhex(hex, bytes);
  return hly_str_make(hly_arena_copy(f->arena, bytes, n), n);
}

static void test_substring(void **state) {
  FILE *in = fopen(TEST_DATA "/substring.txt", "r");
  assert_non_null(in);
  const hly_type *S = hly_type_of(HLY_STRING), *I = hly_type_of(HLY_INT);
  fixture f;
  begin(&f, S, I, I, 1);
  Halley__Expr *s = x_col(&f.b, 0, S, true);
  hly_exprs *sub =
      bind(&f, x_call(&f.b, "Substring", S, 3, s, x_col(&f.b, 1, I, true), x_col(&f.b, 2, I, true)));
  hly_exprs *len = bind(&f, x_call(&f.b, "Length", I, 1, s));
  char line[1024], bytes[256], want[256];
  int position, length, n_chars, n_lines = 0;
  while (fgets(line, sizeof line, in)) {
    if (line[0] == '#') continue;
    assert_int_equal(sscanf(line, "%255s %d %d %d %255s", bytes, &position, &length, &n_chars, want), 5);
    *(hly_str *)f.batch->columns[0]->values = keep(&f, bytes);
    *(int32_t *)f.batch->columns[1]->values = position;
    *(int32_t *)f.batch->columns[2]->values = length;
    hly_vector *out;
    uint32_t n;
    assert_ok(&f.ctx, hly_exprs_eval(len, &f.ctx, f.batch, &out, &n));
    assert_int_equal(*(const int32_t *)out->values, n_chars);
    assert_ok(&f.ctx, hly_exprs_eval(sub, &f.ctx, f.batch, &out, &n));
    hly_str expected = keep(&f, want);
    if (!hly_str_equal(out->values, &expected)) fail_msg("%s", line);
    n_lines++;
  }
  fclose(in);
  assert_int_equal(n_lines, 596);
  hly_exprs_close(sub);
  hly_exprs_close(len);
  end(&f);
}

typedef struct declines {
  test_host base;
  uint32_t n;
} declines;

// Declined rows end here: counted, and answered with an error row so that the case is skipped.
static hly_status count_declined(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                                 hly_error *error) {
  ((declines *)arg)->n++;
  call->n_done = 0;
  call->error = 1;
  return HLY_OK;
}

static void test_like(void **state) {
  FILE *in = fopen(TEST_DATA "/like.txt", "r");
  assert_non_null(in);
  const hly_type *S = hly_type_of(HLY_STRING);
  char line[1024], bytes[256], pattern[256];
  int want, n_lines = 0, n_exact = 0;
  while (fgets(line, sizeof line, in)) {
    if (line[0] == '#') continue;
    assert_int_equal(sscanf(line, "%255s %255s %d", bytes, pattern, &want), 3);
    n_lines++;
    fixture f;
    begin(&f, S, S, S, 1);
    declines host = {.n = 0};
    test_host_init(&host.base, -1);
    host.base.host.dispatch = count_declined;
    f.ctx.host = &host.base.host;
    *(hly_str *)f.batch->columns[0]->values = keep(&f, bytes);
    uint8_t p[256];
    uint32_t n = unhex(pattern, p);
    Halley__Expr *e =
        x_call(&f.b, "Like", hly_type_of(HLY_BOOLEAN), 2, x_col(&f.b, 0, S, true), x_bytes(&f.b, S, p, n));
    x_param_string(&f.b, e, "escapeChar", "\\");
    hly_exprs *program = bind(&f, e);
    hly_vector *out;
    uint32_t n_good;
    assert_ok(&f.ctx, hly_exprs_eval(program, &f.ctx, f.batch, &out, &n_good));
    if (n_good) {
      n_exact++;
      if (((const uint8_t *)out->values)[0] != want) fail_msg("%s", line);
    }
    hly_exprs_close(program);
    f.ctx.host = &f.host.host;
    end(&f);
  }
  fclose(in);
  assert_int_equal(n_lines, 2500);
  assert_true(n_exact > 2200); // the rest is invalid UTF-8 under an underscore
}

// Needles of every length at every place, in strings that end where their allocation does.
static void test_find(void **state) {
  static const hly_find_fn all[HLY_N_CPU] = {hly_find_baseline, hly_find_v3, hly_find_v4};
  rng = 31337;
  for (int level = 0; level <= (int)hly_cpu_best(); level++)
    for (uint32_t n = 0; n < 140; n += 1 + n / 40)
      for (int k = 0; k < 40; k++) {
        uint8_t *s = malloc(n ? n : 1), needle[8];
        for (uint32_t i = 0; i < n; i++) s[i] = (uint8_t)('a' + (rnd() >> 30) % 2);
        uint32_t m = (uint32_t)(rnd() >> 30) % 8, want = UINT32_MAX;
        for (uint32_t i = 0; i < m; i++) needle[i] = (uint8_t)('a' + (rnd() >> 30) % 2);
        for (uint32_t i = 0; i + m <= n && want == UINT32_MAX; i++)
          if (!m || memcmp(s + i, needle, m) == 0) want = i;
        const uint8_t *got = all[level](s, n, needle, m);
        assert_int_equal(got ? (uint32_t)(got - s) : UINT32_MAX, want);
        free(s);
      }
}

static void test_needles(void **state) {
  static const struct {
    const char *s, *needle;
    bool starts, ends, contains;
  } cases[] = {
      {"", "", 1, 1, 1},
      {"abc", "", 1, 1, 1},
      {"", "a", 0, 0, 0},
      {"abcabc", "abc", 1, 1, 1},
      {"abc", "abcd", 0, 0, 0},
      {"a long string that is not inline", "not inline", 0, 1, 1},
      {"a long string that is not inline", "a long string that", 1, 0, 1},
      {"aab", "ab", 0, 1, 1},
      {"\xff\xfe", "\xfe", 0, 1, 1},
  };
  const hly_type *S = hly_type_of(HLY_STRING), *B = hly_type_of(HLY_BOOLEAN);
  const uint32_t n = sizeof cases / sizeof *cases;
  fixture f;
  begin(&f, S, S, S, n);
  for (uint32_t i = 0; i < n; i++) {
    ((hly_str *)f.batch->columns[0]->values)[i] = hly_str_make(cases[i].s, (uint32_t)strlen(cases[i].s));
    ((hly_str *)f.batch->columns[1]->values)[i] =
        hly_str_make(cases[i].needle, (uint32_t)strlen(cases[i].needle));
  }
  static const char *const classes[] = {"StartsWith", "EndsWith", "Contains"};
  for (int k = 0; k < 3; k++) {
    hly_exprs *p = bind(&f, x_call(&f.b, classes[k], B, 2, x_col(&f.b, 0, S, true), x_col(&f.b, 1, S, true)));
    hly_vector *out;
    uint32_t n_good;
    assert_ok(&f.ctx, hly_exprs_eval(p, &f.ctx, f.batch, &out, &n_good));
    for (uint32_t i = 0; i < n; i++)
      assert_int_equal(((const uint8_t *)out->values)[i], k == 0   ? cases[i].starts
                                                          : k == 1 ? cases[i].ends
                                                                   : cases[i].contains);
    hly_exprs_close(p);
  }
  end(&f);
}

// Results on both sides of the inline limit, nulls with wild views, and what is left to Spark.
static void test_built_strings(void **state) {
  static const struct {
    const char *cls;
    const char *a, *b, *want; // b NULL: one argument; want NULL: declined
  } cases[] = {
      {"Concat", "", "", ""},
      {"Concat", "abcdef", "ghijkl", "abcdefghijkl"},
      {"Concat", "abcdef", "ghijklm", "abcdefghijklm"},
      {"Concat", "\xff", "\xc3", "\xff\xc3"},
      {"Upper", "aZ09@[`{", NULL, "AZ09@[`{"},
      {"Upper", "a long text, all of it ascii", NULL, "A LONG TEXT, ALL OF IT ASCII"},
      {"Lower", "A LONG TEXT, ALL OF IT ASCII", NULL, "a long text, all of it ascii"},
      {"Lower", "@AZ[", NULL, "@az["},
      {"Upper",
       "stra\xc3\x9f"
       "e",
       NULL, NULL},
      {"StringTrim", "  a b  ", NULL, "a b"},
      {"StringTrim", "   ", NULL, ""},
      {"StringTrim", "\t a\n ", NULL, "\t a\n"},
      {"StringTrimLeft", "   more than twelve bytes ", NULL, "more than twelve bytes "},
      {"StringTrimRight", " more than twelve bytes   ", NULL, " more than twelve bytes"},
  };
  const hly_type *S = hly_type_of(HLY_STRING);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture f;
    begin(&f, S, S, S, 2);
    declines host = {.n = 0};
    test_host_init(&host.base, -1);
    host.base.host.dispatch = count_declined;
    f.ctx.host = &host.base.host;
    const char *texts_of[2] = {cases[i].a, cases[i].b ? cases[i].b : ""};
    for (int c = 0; c < 2; c++) {
      hly_str *v = f.batch->columns[c]->values;
      v[0] = hly_str_make(texts_of[c], (uint32_t)strlen(texts_of[c]));
      v[1] = (hly_str){.len = 77};
      assert_ok(&f.ctx, hly_vector_need_validity(&f.ctx, f.batch->columns[c]));
      hly_bits_clear(f.batch->columns[c]->validity, 1);
    }
    Halley__Expr *a = x_col(&f.b, 0, S, true), *b = x_col(&f.b, 1, S, true);
    hly_exprs *p =
        bind(&f, cases[i].b ? x_call(&f.b, cases[i].cls, S, 2, a, b) : x_call(&f.b, cases[i].cls, S, 1, a));
    hly_vector *out;
    uint32_t n_good;
    assert_ok(&f.ctx, hly_exprs_eval(p, &f.ctx, f.batch, &out, &n_good));
    assert_int_equal(host.n, cases[i].want ? 0 : 1);
    assert_int_equal(n_good, cases[i].want ? 2 : 0);
    if (cases[i].want) {
      hly_str want = hly_str_make(cases[i].want, (uint32_t)strlen(cases[i].want));
      if (!hly_str_equal(out->values, &want)) fail_msg("%s of '%s'", cases[i].cls, cases[i].a);
      assert_true(hly_vector_is_null(out, 1));
    }
    hly_exprs_close(p);
    f.ctx.host = &f.host.host;
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_comparisons), cmocka_unit_test(test_mixed_decimals),
      cmocka_unit_test(test_in),          cmocka_unit_test(test_substring),
      cmocka_unit_test(test_like),        cmocka_unit_test(test_needles),
      cmocka_unit_test(test_find),        cmocka_unit_test(test_built_strings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
