// Types, schemas and literals from messages: what is taken, and what a broken message is told.
#include <stdio.h>
#include <string.h>

#include "expr_build.h"
#include "fixture.h"
#include "plan/binder.h"
#include "vector/decimal.h"
#include "vector/str.h"

typedef struct fixture {
  hly_arena *arena;
  test_host host;
  hly_ctx ctx;
  hly_binder b;
} fixture;

static int begin(void **state) {
  static fixture f;
  memset(&f, 0, sizeof f);
  f.arena = hly_arena_create();
  test_host_init(&f.host, -1);
  test_ctx_init(&f.ctx, &f.host);
  f.b = (hly_binder){.ctx = &f.ctx, .arena = f.arena};
  *state = &f;
  return 0;
}

static int end(void **state) {
  fixture *f = *state;
  hly_arena_destroy(f->arena);
  test_ctx_deinit(&f->ctx);
  return 0;
}

static void expect(fixture *f, hly_status got, hly_status want) {
  assert_int_equal(got, want);
  if (want == HLY_ERR) {
    assert_int_equal(f->ctx.error.id, HLY_E_PLAN_INVALID);
    hly_error_clear(&f->ctx.error);
  }
  if (want == HLY_REFUSED) assert_true(f->b.n_reasons > 0);
}

static void test_types(void **state) {
  fixture *f = *state;
  static const struct {
    int kind, precision, scale;
    hly_status want;
  } cases[] = {
      {HALLEY__KIND__INT, 0, 0, HLY_OK},
      {HALLEY__KIND__STRING, 0, 0, HLY_OK},
      {HALLEY__KIND__DECIMAL, 10, 2, HLY_OK},
      {HALLEY__KIND__DECIMAL, 38, 38, HLY_OK},
      {HALLEY__KIND__DECIMAL, 39, 0, HLY_ERR},
      {HALLEY__KIND__DECIMAL, 0, 0, HLY_ERR},
      {HALLEY__KIND__DECIMAL, 5, 6, HLY_ERR},
      {HALLEY__KIND__DECIMAL, 5, -1, HLY_REFUSED},
      {HALLEY__KIND__TIME, 6, 0, HLY_OK},
      {HALLEY__KIND__TIME, 7, 0, HLY_ERR},
      {HALLEY__KIND__ARRAY, 0, 0, HLY_ERR}, // no element
      {HALLEY__KIND__MAP, 0, 0, HLY_ERR},
      {HALLEY__KIND__STRUCT, 0, 0, HLY_OK},
      {HALLEY__KIND__OTHER, 0, 0, HLY_OK},
      {HALLEY__KIND__VARIANT, 0, 0, HLY_OK},
      {-1, 0, 0, HLY_ERR},
      {23, 0, 0, HLY_ERR},
      {1 << 30, 0, 0, HLY_ERR},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Halley__DataType m = HALLEY__DATA_TYPE__INIT;
    m.kind = (Halley__Kind)cases[i].kind;
    m.precision = cases[i].precision;
    m.scale = cases[i].scale;
    const hly_type *t = NULL;
    expect(f, hly_bind_type(&f->b, &m, &t), cases[i].want);
    if (cases[i].want != HLY_OK) continue;
    assert_int_equal(t->kind, cases[i].kind);
    if (t->kind == HLY_DECIMAL)
      assert_int_equal(t->phys, cases[i].precision > 18 ? HLY_PHYS_I128 : HLY_PHYS_I64);
  }
  expect(f, hly_bind_type(&f->b, NULL, &(const hly_type *){NULL}), HLY_ERR);
  Halley__DataType collated = HALLEY__DATA_TYPE__INIT;
  collated.kind = HALLEY__KIND__STRING;
  collated.collation = (char *)"UNICODE";
  const hly_type *t;
  expect(f, hly_bind_type(&f->b, &collated, &t), HLY_OK);
  assert_string_equal(t->collation, "UNICODE");
  assert_false(hly_type_equal(t, hly_type_of(HLY_STRING)));
}

static void test_deep_type(void **state) {
  fixture *f = *state;
  expr_builder x = {.arena = f->arena};
  Halley__DataType *t = x_type(&x, hly_type_of(HLY_INT));
  for (int depth = 1; depth < 200; depth++) {
    Halley__DataType *outer = HLY_ARENA_NEW(f->arena, Halley__DataType);
    halley__data_type__init(outer);
    outer->kind = HALLEY__KIND__ARRAY;
    outer->n_fields = 1;
    outer->fields = HLY_ARENA_NEW_N(f->arena, Halley__Field *, 1);
    outer->fields[0] = HLY_ARENA_NEW(f->arena, Halley__Field);
    halley__field__init(outer->fields[0]);
    outer->fields[0]->type = t;
    t = outer;
    const hly_type *bound;
    if (depth == 60) expect(f, hly_bind_type(&f->b, t, &bound), HLY_OK);
  }
  expect(f, hly_bind_type(&f->b, t, &(const hly_type *){NULL}), HLY_REFUSED);
}

static Halley__Literal literal(expr_builder *x, const hly_type *t, Halley__Literal__ValueCase value) {
  Halley__Literal m = HALLEY__LITERAL__INIT;
  m.type = x_type(x, t);
  m.value_case = value;
  return m;
}

static void test_literals(void **state) {
  fixture *f = *state;
  expr_builder x = {.arena = f->arena};
  static const struct {
    hly_kind kind;
    int64_t value;
    hly_status want;
  } ints[] = {
      {HLY_BYTE, 127, HLY_OK},
      {HLY_BYTE, 128, HLY_ERR},
      {HLY_SHORT, -32768, HLY_OK},
      {HLY_SHORT, -32769, HLY_ERR},
      {HLY_INT, INT32_MIN, HLY_OK},
      {HLY_INT, (int64_t)INT32_MAX + 1, HLY_ERR},
      {HLY_LONG, INT64_MIN, HLY_OK},
      {HLY_DATE, -719162, HLY_OK},
      {HLY_DATE, INT64_MAX, HLY_ERR},
      {HLY_TIMESTAMP, -1, HLY_OK},
      {HLY_BOOLEAN, 1, HLY_ERR},
      {HLY_DOUBLE, 1, HLY_ERR},
      {HLY_STRING, 1, HLY_ERR},
      {HLY_NULL, 1, HLY_ERR},
      {HLY_YEAR_MONTH_INTERVAL, 5, HLY_OK},
      {HLY_YEAR_MONTH_INTERVAL, INT64_MAX, HLY_ERR},
  };
  hly_literal lit;
  for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
    Halley__Literal m = literal(&x, hly_type_of(ints[i].kind), HALLEY__LITERAL__VALUE_INT_VALUE);
    m.int_value = ints[i].value;
    expect(f, hly_bind_literal(&f->b, &m, &lit), ints[i].want);
  }
  // Decimals: by the unscaled value, which must fit the precision.
  Halley__Literal m = literal(&x, hly_type_decimal(5, 2), HALLEY__LITERAL__VALUE_INT_VALUE);
  m.int_value = 99999;
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_OK);
  assert_int_equal(lit.value.i64, 99999);
  m.int_value = 100000;
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_ERR);
  m = literal(&x, hly_type_decimal(38, 2), HALLEY__LITERAL__VALUE_BYTES_VALUE);
  hly_i128 big = -(hly_pow10_i128[38] - 1);
  m.bytes_value = (ProtobufCBinaryData){16, (uint8_t *)&big};
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_OK);
  assert_true(lit.value.i128 == big);
  big = -hly_pow10_i128[38];
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_ERR);
  m.bytes_value.len = 15;
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_ERR);
  // Strings: copied.
  m = literal(&x, hly_type_of(HLY_STRING), HALLEY__LITERAL__VALUE_BYTES_VALUE);
  char text[] = "longer than twelve bytes";
  m.bytes_value = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_OK);
  text[0] = 'X';
  hly_str s;
  memcpy(&s, lit.value.bytes, sizeof s);
  assert_memory_equal(hly_str_data(&s), "longer than twelve bytes", s.len);
  // Nulls of any type; a null that says it is none; nothing at all.
  m = literal(&x, hly_type_of(HLY_NULL), HALLEY__LITERAL__VALUE_NULL_VALUE);
  m.null_value = true;
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_OK);
  assert_true(lit.is_null);
  m.null_value = false;
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_ERR);
  m.value_case = HALLEY__LITERAL__VALUE__NOT_SET;
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_ERR);
  expect(f, hly_bind_literal(&f->b, NULL, &lit), HLY_ERR);
  // Rows are whole words.
  m = literal(&x, hly_type_of(HLY_CALENDAR_INTERVAL), HALLEY__LITERAL__VALUE_ROW_VALUE);
  uint8_t row[32] = {0};
  m.row_value = (ProtobufCBinaryData){sizeof row, row};
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_OK);
  m.row_value.len = 12;
  expect(f, hly_bind_literal(&f->b, &m, &lit), HLY_ERR);
}

static void test_schema(void **state) {
  fixture *f = *state;
  expr_builder x = {.arena = f->arena};
  Halley__Field a = HALLEY__FIELD__INIT, b = HALLEY__FIELD__INIT;
  a.name = (char *)"a";
  a.type = x_type(&x, hly_type_of(HLY_INT));
  a.field_id = 7;
  a.nullable = true;
  b.name = (char *)"b";
  b.type = x_type(&x, hly_type_of(HLY_LONG));
  Halley__Literal value = literal(&x, hly_type_of(HLY_LONG), HALLEY__LITERAL__VALUE_INT_VALUE);
  value.int_value = 42;
  b.default_value = &value;
  Halley__Field *fields[] = {&a, &b};
  hly_schema schema;
  expect(f, hly_bind_schema(&f->b, fields, 2, &schema), HLY_OK);
  assert_int_equal(schema.n_fields, 2);
  assert_string_equal(schema.fields[0].name, "a");
  assert_int_equal(schema.fields[0].field_id, 7);
  assert_int_equal(schema.fields[1].default_value->value.i64, 42);
  value.type = x_type(&x, hly_type_of(HLY_INT)); // another type than the field's
  expect(f, hly_bind_schema(&f->b, fields, 2, &schema), HLY_ERR);
  b.type = NULL;
  expect(f, hly_bind_schema(&f->b, fields, 2, &schema), HLY_ERR);
  expect(f, hly_bind_schema(&f->b, NULL, 0, &schema), HLY_OK);
}

static void test_reasons(void **state) {
  fixture *f = *state;
  for (int i = 0; i < 40; i++) assert_int_equal(hly_bind_refuse(&f->b, "reason %d", i / 2), HLY_REFUSED);
  assert_int_equal(f->b.n_reasons, 20); // each once
  assert_string_equal(f->b.reasons[19], "reason 19");
  for (int i = 0; i < 40; i++) {
    char name[16];
    snprintf(name, sizeof name, "Class%d", i % 10);
    assert_int_equal(hly_bind_note_dispatch(&f->b, name), HLY_OK);
  }
  assert_int_equal(f->b.n_dispatched, 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_types, begin, end),
      cmocka_unit_test_setup_teardown(test_deep_type, begin, end),
      cmocka_unit_test_setup_teardown(test_literals, begin, end),
      cmocka_unit_test_setup_teardown(test_schema, begin, end),
      cmocka_unit_test_setup_teardown(test_reasons, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
