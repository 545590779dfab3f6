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

int64_t hly_pq_rebase_micros(int64_t micros, int64_t offset_micros) {
  const int64_t day = 86400000000ll;
  if (micros >= HLY_PQ_LAST_SWITCH_MICROS) return micros;
  __int128 local = (__int128)micros + offset_micros;
  int64_t days = (int64_t)(local / day);
  int64_t rest = (int64_t)(local % day);
  if (rest < 0) {
    days--;
    rest += day;
  }
  return (int64_t)((__int128)rebase_days(days) * day + rest - offset_micros);
}

static bool two_digits(const char **p, int *out) {
  if ((*p)[0] < '0' || (*p)[0] > '9' || (*p)[1] < '0' || (*p)[1] > '9') return false;
  *out = ((*p)[0] - '0') * 10 + (*p)[1] - '0';
  *p += 2;
  return true;
}

bool hly_pq_rebase_zone_offset(const char *zone, int64_t *offset_micros) {
  static const char *const utc[] = {"UTC",       "GMT",      "Z",         "UCT",           "Zulu",
                                    "Etc/UTC",   "Etc/GMT",  "Etc/UCT",   "Etc/Zulu",      "Universal",
                                    "GMT0",      "Etc/GMT0", "Etc/GMT+0", "Etc/Universal", "Etc/Greenwich",
                                    "Greenwich", "Etc/GMT-0"};
  *offset_micros = 0;
  for (size_t i = 0; i < sizeof utc / sizeof *utc; i++)
    if (strcmp(zone, utc[i]) == 0) return true;
  const char *p = zone;
  if (strncmp(p, "GMT", 3) == 0 || strncmp(p, "UTC", 3) == 0) p += 3;
  if (*p != '+' && *p != '-') return false;
  int sign = *p++ == '-' ? -1 : 1, hours, minutes = 0, seconds = 0;
  if (!two_digits(&p, &hours)) return false;
  if (*p == ':' && (p++, !two_digits(&p, &minutes))) return false;
  if (*p == ':' && (p++, !two_digits(&p, &seconds))) return false;
  if (*p || hours > 18 || minutes > 59 || seconds > 59) return false;
  *offset_micros = sign * ((hours * 60 + minutes) * 60 + seconds) * 1000000ll;
  return true;
}
