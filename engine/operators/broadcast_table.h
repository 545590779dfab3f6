// The build sides of broadcast joins, one for all tasks of a process.
//
// A broadcast value has a handle here, which its owner opens and closes. The first task that needs a table of
// the value builds it; the others wait. From then on it is only read. A table belongs to no task: it has a
// pool of its own, which never refuses and asks nobody, and it stays when no task uses it, the last ones used
// up to some bytes, until it is needed again or the handle is closed. What run-time filters know of its keys
// is a part of it, made in the same way for the first join that filters by them.
#ifndef HLY_OPERATORS_BROADCAST_TABLE_H
#define HLY_OPERATORS_BROADCAST_TABLE_H

#include "operators/join_table.h"
#include "operators/key_filter.h"

enum { HLY_BROADCAST_IDLE_BYTES = 256 << 20 }; // of tables that no task uses; the last one used may be larger

typedef struct hly_broadcast hly_broadcast;

// What is known of some of a table's keys.
typedef struct hly_broadcast_keys {
  hly_key_set set; // read only once published
  // of broadcast_table.c
  struct hly_broadcast_keys *next; // of the table
  int state;
  uint32_t n, which[];
} hly_broadcast_keys;

typedef struct hly_broadcast_table {
  // What the builder allocates from; the rows and the table over them, without layout and context; whether
  // any key was null, whether there was any row. Read only once published.
  hly_pool *pool;
  hly_reservation *reservation;
  hly_row_store store;
  hly_join_table table;
  bool has_null, has_rows;
  // of broadcast_table.c
  hly_broadcast *owner;
  struct hly_broadcast_table *next; // of the value; of those to be freed
  struct hly_broadcast_table *newer, *older;
  uint8_t *key;
  size_t n_key;
  uint32_t pins;
  int state;
  hly_broadcast_keys *keys;
} hly_broadcast_table;

hly_broadcast *hly_broadcast_open(void); // NULL: no memory
// Frees the tables that no task uses; the others when they are let go. NULL is fine.
void hly_broadcast_close(hly_broadcast *b);

// Finds or makes the value's table for `key`: bytes that say how its rows are laid out and its keys computed.
// Holds it until hly_broadcast_unpin. *build: the caller must build it, and publish or abandon it; otherwise
// it is complete. Waits while another task builds, HLY_CANCELLED when ctx's task is asked to stop meanwhile.
HLY_MUST_CHECK hly_status hly_broadcast_pin(hly_broadcast *b, hly_ctx *ctx, const void *key, size_t n_key,
                                            hly_broadcast_table **out, bool *build);
// Hands the builder's rows and table, which t->reservation pays for, to all who wait. The builder's own are
// views of them from here on.
void hly_broadcast_publish(hly_broadcast_table *t, const hly_row_store *store, const hly_join_table *table,
                           bool has_null, bool has_rows);
// Building failed: the next that needs the table builds it. Unpins; nothing may be left reserved.
void hly_broadcast_abandon(hly_broadcast_table *t);
void hly_broadcast_unpin(hly_broadcast_table *t);

// Finds or makes the set of the keys `which[0..n)` of a table that is complete and that the caller holds; the
// set lives as long as the table. *build: the caller must build it, paid for by t->reservation, and publish
// or abandon it; otherwise it is complete. Waits as hly_broadcast_pin does: building needs nothing that
// another task has.
HLY_MUST_CHECK hly_status hly_broadcast_find_keys(hly_broadcast_table *t, hly_ctx *ctx, const uint32_t *which,
                                                  uint32_t n, hly_broadcast_keys **out, bool *build);
void hly_broadcast_publish_keys(hly_broadcast_table *t, hly_broadcast_keys *keys);
// Building failed and left the set empty: the next that needs it builds it.
void hly_broadcast_abandon_keys(hly_broadcast_keys *keys);

typedef struct hly_broadcast_counts {
  int64_t tables, bytes; // now
  int64_t built;         // since the process started
  int64_t key_sets;      // so many sets of keys, too
} hly_broadcast_counts;
hly_broadcast_counts hly_broadcast_count(void);

#endif
