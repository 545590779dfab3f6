#include "fixture.h"

#include <string.h>

#include "base/arena.h"
#include "base/bits.h"
#include "base/buf.h"
#include "base/cpu.h"
#include "base/hash.h"

static void murmur3_is_sparks(void **state) {
  // Murmur3_x86_32.hashInt / hashLong / hashUnsafeBytes of Spark, seed 42.
  assert_int_equal((int32_t)hly_murmur3_int(1, 42), -559580957);
  assert_int_equal((int32_t)hly_murmur3_int(0, 42), 933211791);
  assert_int_equal((int32_t)hly_murmur3_long(1, 42), -1712319331);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(murmur3_is_sparks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
