// Rebasing against what Spark 4.1.3 computes (data/rebase.txt: zone, micros, micros rebased, by
// RebaseDateTime.rebaseJulianToGregorianMicros; "days" instead of a zone: rebaseJulianToGregorianDays).
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "parquet/rebase.h"

static void as_spark_does(void **state) {
  FILE *f = fopen(TEST_DATA "/rebase.txt", "r");
  assert_non_null(f);
  char name[64];
  int64_t in, out;
  int n = 0;
  while (fscanf(f, "%63s %" SCNd64 " %" SCNd64, name, &in, &out) == 3) {
    hly_pq_rebase_zone zone;
    int64_t found;
    if (strcmp(name, "days") == 0) {
      found = hly_pq_rebase_days((int32_t)in);
    } else {
      if (!hly_pq_rebase_zone_find(name, &zone)) fail_msg("no zone %s", name);
      found = hly_pq_rebase_micros(&zone, in);
    }
    if (found != out) fail_msg("%s: %" PRId64 " gives %" PRId64 ", Spark %" PRId64, name, in, found, out);
    n++;
  }
  fclose(f);
  assert_true(n > 800);
}

static void unknown_zones(void **state) {
  hly_pq_rebase_zone zone;
  assert_false(hly_pq_rebase_zone_find("Atlantis/Capital", &zone));
  assert_true(hly_pq_rebase_zone_find("Europe/Paris", &zone));
  assert_string_equal(zone.name, "Europe/Paris");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_spark_does), cmocka_unit_test(unknown_zones)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
