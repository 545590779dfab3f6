// The registry: what every row must satisfy, and its JSON.
#include <string.h>

#include "expr/registry.h"
#include "fixture.h"

static void test_rows(void **state) {
  for (const hly_fn *fn = hly_fns; fn->cls; fn++) {
    assert_ptr_equal(hly_fn_find(fn->cls), fn); // a class has one row
    assert_true(fn->args[0] != 0);
    assert_int_equal(fn->args[0] & (HLY_ARG_SAME | HLY_ARG_SAME_AS_2 | HLY_ARG_REST), 0);
    assert_true((fn->bind != NULL) == (fn->form == HLY_FORM_KERNEL));
  }
  assert_null(hly_fn_find("Rand"));
}

// Balanced brackets and quotes outside of which nothing surprising stands: enough to see a broken escape.
static void check_json(const char *s) {
  char open[64];
  int depth = 0;
  for (; *s; s++) {
    if (*s == '"') {
      for (s++; *s != '"'; s++) assert_true(*s >= ' ' && *s != '\\');
    } else if (*s == '{' || *s == '[') {
      assert_true(depth < 64);
      open[depth++] = *s;
    } else if (*s == '}' || *s == ']') {
      assert_true(depth > 0);
      assert_int_equal(open[--depth], *s == '}' ? '{' : '[');
    } else {
      assert_non_null(strchr(",: \n", *s));
    }
  }
  assert_int_equal(depth, 0);
}

static hly_status print_json(void *arg) {
  hly_ctx ctx = {0};
  char *json = NULL;
  size_t n = 0, cap = 0;
  hly_status st = hly_registry_json(&ctx, &json, &n, &cap);
  if (st == HLY_OK) {
    assert_int_equal(strlen(json), n);
    check_json(json);
    assert_non_null(strstr(json, "\"class\": \"EqualTo\""));
    assert_non_null(strstr(json, "\"operator\": \"Filter\""));
    assert_non_null(strstr(json, "\"class\": \"Sum\""));
  }
  hly_free(json);
  return st;
}

static void test_json(void **state) {
  test_failing_allocations(print_json, NULL, 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_json)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
