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

// A time zone by what the rebase needs of it.
typedef struct hly_pq_rebase_zone {
  const char *name;
  int32_t raw, mean; // seconds: see rebase_zones.def
  int32_t n_changes;
  struct {
    int64_t when;
    int64_t by;
  } changes[3];
} hly_pq_rebase_zone;

// The zone of a name as java.util.TimeZone takes it (what it does not know is GMT). False for names that it
// may know and the table does not.
bool hly_pq_rebase_zone_find(const char *name, hly_pq_rebase_zone *out);
int64_t hly_pq_rebase_micros(const hly_pq_rebase_zone *zone, int64_t micros);

#endif
