#include "parquet/rebase.h"

#include <string.h>

// Calendar arithmetic after Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin in
// March, so that the leap day is the last one.

// Days since 1970-01-01 (Gregorian) of the first of a month in the proleptic Gregorian calendar.
static int64_t days_from_gregorian(int64_t year, int month) {
  year -= month <= 2;
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  int64_t yoe = year - era * 400;
  int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;
  int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + doe - 719468;
}

// The Julian calendar has one rule: a leap day every fourth year. 0000-03-01 (Julian) is day -719470.
static void julian_from_days(int64_t days, int64_t *year, int *month, int *day) {
  int64_t z = days + 719470;
  int64_t era = (z >= 0 ? z : z - 1460) / 1461;
  int64_t doe = z - era * 1461;
  int64_t yoe = (doe - doe / 1460) / 365;
  int64_t doy = doe - 365 * yoe;
  int mp = (int)((5 * doy + 2) / 153);
  *day = (int)(doy - (153 * mp + 2) / 5 + 1);
  *month = mp < 10 ? mp + 3 : mp - 9;
  *year = yoe + era * 4 + (*month <= 2);
}

static int64_t rebase_days(int64_t days) {
  if (days >= HLY_PQ_LAST_SWITCH_DAY) return days;
  int64_t year;
  int month, day;
  julian_from_days(days, &year, &month, &day);
  // From the first of the month on: 29 February of a century is a day that the other calendar may not have.
  return days_from_gregorian(year, month) + day - 1;
}

int32_t hly_pq_rebase_days(int32_t days) {
  return (int32_t)rebase_days(days);
}

// Local times of the hybrid calendar as if the zone were UTC.
static int64_t rebase_local(int64_t micros) {
  const int64_t day = 86400000000ll;
  int64_t days = micros / day, rest = micros % day;
  if (rest < 0) {
    days--;
    rest += day;
  }
  return rebase_days(days) * day + rest;
}

int64_t hly_pq_rebase_micros(const hly_pq_rebase_zone *zone, int64_t micros) {
  const int64_t second = 1000000;
  if (micros >= HLY_PQ_LAST_SWITCH_MICROS) return micros;
  for (int i = zone->n_changes; i-- > 0;)
    if (micros >= zone->changes[i].when * second) return micros + zone->changes[i].by * second;
  // The old calendar takes the zone's raw offset for such times, the new one its local mean time. Before the
  // Common Era Spark asks the JVM's time zones instead of its table, which differ by seconds in a few zones.
  return rebase_local(micros - zone->raw * second) + (zone->raw + zone->mean) * second;
}

static const hly_pq_rebase_zone zones[] = {
#define X(name, raw, mean, n, w1, b1, w2, b2, w3, b3) {name, raw, mean, n, {{w1, b1}, {w2, b2}, {w3, b3}}},
#include "parquet/rebase_zones.def"
#undef X
};

// "GMT+h", "GMT+hh", "GMT+hh:mm", "GMT+hhmm": the custom names of java.util.TimeZone. False when `p` (after
// "GMT") is none.
static bool custom_offset(const char *p, int32_t *seconds) {
  int sign = *p == '+' ? 1 : *p == '-' ? -1 : 0, digits[4], n = 0, hours, minutes = 0;
  if (!sign) return false;
  p++;
  while (*p >= '0' && *p <= '9' && n < 4) digits[n++] = *p++ - '0';
  if (n == 0 || (n == 3 && *p)) return false;
  hours = n <= 2 ? (n == 1 ? digits[0] : digits[0] * 10 + digits[1])
                 : (n == 3 ? digits[0] : digits[0] * 10 + digits[1]);
  if (n > 2) minutes = digits[n - 2] * 10 + digits[n - 1];
  if (*p == ':' && n <= 2) {
    if (p[1] < '0' || p[1] > '9' || p[2] < '0' || p[2] > '9') return false;
    minutes = (p[1] - '0') * 10 + p[2] - '0';
    p += 3;
  }
  if (*p || hours > 23 || minutes > 59) return false;
  *seconds = sign * (hours * 60 + minutes) * 60;
  return true;
}

bool hly_pq_rebase_zone_find(const char *name, hly_pq_rebase_zone *out) {
  size_t low = 0, high = sizeof zones / sizeof *zones;
  while (low < high) {
    size_t middle = (low + high) / 2;
    int c = strcmp(name, zones[middle].name);
    if (c == 0) {
      *out = zones[middle];
      return true;
    }
    if (c < 0)
      high = middle;
    else
      low = middle + 1;
  }
  *out = (hly_pq_rebase_zone){.name = "GMT"};
  int32_t seconds;
  if (strncmp(name, "GMT", 3) == 0 && custom_offset(name + 3, &seconds)) {
    out->raw = -seconds;
    return true;
  }
  // "+01:00", "UTC+1" and the like are no names of a TimeZone, and so GMT.
  return name[0] == '+' || name[0] == '-' || strncmp(name, "UTC", 3) == 0 || strncmp(name, "GMT", 3) == 0 ||
         strncmp(name, "UT+", 3) == 0 || strncmp(name, "UT-", 3) == 0 || strcmp(name, "Z") == 0;
}
