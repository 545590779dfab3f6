// Dates and timestamps written in the hybrid Julian-Gregorian calendar (Spark 2, Hive), turned into the
// proleptic Gregorian calendar so that the local date and time stay the same.
#ifndef HLY_PARQUET_REBASE_H
#define HLY_PARQUET_REBASE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum hly_pq_rebase {
  HLY_PQ_REBASE_CORRECTED = 0, // values are what they are
  HLY_PQ_REBASE_EXCEPTION,     // ancient values are an error
  HLY_PQ_REBASE_LEGACY,        // ancient values are rebased
} hly_pq_rebase;

// Before these a value is ancient: 1582-10-15, and 1900-01-01T00:00:00Z (after which no time zone's local
// mean time matters).
#define HLY_PQ_LAST_SWITCH_DAY (-141427)
#define HLY_PQ_LAST_SWITCH_MICROS (-2208988800000000ll)

int32_t hly_pq_rebase_days(int32_t days);

// Time zones by what the rebase needs of them: the offset from UTC, which must be the same for all times.
// False for zones with transitions or with a local mean time before 1900.
bool hly_pq_rebase_zone_offset(const char *zone, int64_t *offset_micros);
int64_t hly_pq_rebase_micros(int64_t micros, int64_t offset_micros);

#endif
