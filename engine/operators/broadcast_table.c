#define _GNU_SOURCE // pthread_cond_clockwait
#include "operators/broadcast_table.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

enum { EMPTY, BUILDING, READY };
enum { POLL_NS = 50 * 1000 * 1000 };

struct hly_broadcast {
  hly_broadcast_table *tables;
  uint64_t refs; // pins of its tables, and one while it is open
  bool open;
};

// One lock for all: it is held for a few instructions, and never in a call to the host or to the allocator's
// system calls that give memory back.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static hly_broadcast_table *newest, *oldest; // complete, and no task uses them
static int64_t idle_bytes;
static hly_broadcast_counts counts;

// ---- Tables; the mutex is held except where it says so.

static int64_t table_bytes(const hly_broadcast_table *t) {
  return hly_reservation_bytes(t->reservation);
}

// Not with the mutex held.
static void destroy(hly_broadcast_table *t) {
  for (hly_broadcast_keys *k = t->keys, *next; k; k = next) {
    next = k->next;
    hly_key_set_clear(&k->set);
    hly_free(k);
  }
  hly_join_table_clear(&t->table);
  hly_row_store_clear(&t->store);
  hly_reservation_destroy(t->reservation);
  if (t->pool) hly_pool_destroy(t->pool);
  hly_free(t->key);
  hly_free(t);
}

static void destroy_all(hly_broadcast_table *dead) {
  while (dead) {
    hly_broadcast_table *next = dead->next;
    destroy(dead);
    dead = next;
  }
}

static hly_broadcast_table *find(const hly_broadcast *b, const void *key, size_t n_key) {
  hly_broadcast_table *t = b->tables;
  while (t && (t->n_key != n_key || memcmp(t->key, key, n_key))) t = t->next;
  return t;
}

static hly_broadcast_table *make(hly_broadcast *b, const void *key, size_t n_key) {
  hly_broadcast_table *t = hly_calloc(1, sizeof *t);
  if (!t) return NULL;
  t->key = hly_malloc(n_key ? n_key : 1);
  t->pool = hly_pool_create(NULL);
  t->reservation = t->pool ? hly_reservation_create(t->pool, "Broadcast", NULL, NULL) : NULL;
  if (!t->key || !t->reservation) {
    destroy(t);
    return NULL;
  }
  memcpy(t->key, key, n_key);
  t->n_key = n_key;
  t->owner = b;
  t->next = b->tables;
  b->tables = t;
  return t;
}

static void idle_remove(hly_broadcast_table *t) {
  *(t->newer ? &t->newer->older : &newest) = t->older;
  *(t->older ? &t->older->newer : &oldest) = t->newer;
  t->newer = t->older = NULL;
  idle_bytes -= table_bytes(t);
}

static void idle_add(hly_broadcast_table *t) {
  t->older = newest;
  *(newest ? &newest->newer : &oldest) = t;
  newest = t;
  idle_bytes += table_bytes(t);
}

// Takes a table that nobody uses and that is not among the idle ones from its value.
static void drop(hly_broadcast_table *t, hly_broadcast_table **dead) {
  hly_broadcast_table **at = &t->owner->tables;
  while (*at != t) at = &(*at)->next;
  *at = t->next;
  if (t->state == READY) {
    counts.tables--;
    counts.bytes -= table_bytes(t);
  }
  t->next = *dead;
  *dead = t;
}

static void drop_surplus(hly_broadcast_table **dead) {
  while (idle_bytes > HLY_BROADCAST_IDLE_BYTES && oldest != newest) {
    hly_broadcast_table *t = oldest;
    idle_remove(t);
    drop(t, dead);
  }
}

// Of a table or of what is known of its keys; those that wait for it look again.
static void turn(int *state, int to) {
  *state = to;
  pthread_cond_broadcast(&changed);
}

// One reference less; true: the last, the caller frees the value.
static bool unref(hly_broadcast *b) {
  return --b->refs == 0;
}

static bool unpin(hly_broadcast_table *t, hly_broadcast_table **dead) {
  hly_broadcast *b = t->owner;
  if (--t->pins == 0) {
    if (t->state == READY && b->open) {
      idle_add(t);
      drop_surplus(dead);
    } else {
      drop(t, dead);
    }
  }
  return unref(b);
}

// ---- Values.

hly_broadcast *hly_broadcast_open(void) {
  hly_broadcast *b = hly_calloc(1, sizeof *b);
  if (!b) return NULL;
  b->refs = 1;
  b->open = true;
  return b;
}

void hly_broadcast_close(hly_broadcast *b) {
  if (!b) return;
  hly_broadcast_table *dead = NULL, *next;
  pthread_mutex_lock(&mutex);
  b->open = false;
  for (hly_broadcast_table *t = b->tables; t; t = next) {
    next = t->next;
    if (t->pins) continue;
    idle_remove(t);
    drop(t, &dead);
  }
  bool last = unref(b);
  pthread_mutex_unlock(&mutex);
  destroy_all(dead);
  if (last) hly_free(b);
}

// ---- What tasks do.

static void wait_a_while(void) { // mutex held, but not while it waits
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += POLL_NS;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  pthread_cond_clockwait(&changed, &mutex, CLOCK_MONOTONIC, &until);
}

// Until *state is not BUILDING, or is by the caller: *build. The mutex is held, but not in the host.
static hly_status await(int *state, hly_ctx *ctx, bool *build) {
  while (*state == BUILDING) {
    wait_a_while();
    if (*state != BUILDING) break;
    pthread_mutex_unlock(&mutex);
    hly_status st = hly_ctx_check(ctx);
    pthread_mutex_lock(&mutex);
    HLY_TRY(st);
  }
  *build = *state == EMPTY;
  if (*build) *state = BUILDING;
  return HLY_OK;
}

hly_status hly_broadcast_pin(hly_broadcast *b, hly_ctx *ctx, const void *key, size_t n_key,
                             hly_broadcast_table **out, bool *build) {
  *out = NULL;
  *build = false;
  pthread_mutex_lock(&mutex);
  hly_broadcast_table *t = find(b, key, n_key);
  if (!t) t = make(b, key, n_key);
  if (!t) {
    pthread_mutex_unlock(&mutex);
    return hly_ctx_nomem(ctx, (int64_t)(sizeof *t + n_key));
  }
  if (t->pins++ == 0 && t->state == READY) idle_remove(t);
  b->refs++;
  hly_status st = await(&t->state, ctx, build);
  pthread_mutex_unlock(&mutex);
  if (st == HLY_OK)
    *out = t;
  else
    hly_broadcast_unpin(t);
  return st;
}

void hly_broadcast_publish(hly_broadcast_table *t, const hly_row_store *store, const hly_join_table *table,
                           bool has_null, bool has_rows) {
  t->store = *store;
  t->table = *table;
  // Those are the builder's, which may end before the table does.
  t->store.ctx = t->table.ctx = NULL;
  t->store.layout = NULL;
  t->table.rows = NULL;
  t->table.probe = NULL;
  t->has_null = has_null;
  t->has_rows = has_rows;
  pthread_mutex_lock(&mutex);
  turn(&t->state, READY);
  counts.tables++;
  counts.built++;
  counts.bytes += table_bytes(t);
  pthread_mutex_unlock(&mutex);
}

void hly_broadcast_abandon(hly_broadcast_table *t) {
  pthread_mutex_lock(&mutex);
  turn(&t->state, EMPTY);
  pthread_mutex_unlock(&mutex);
  hly_broadcast_unpin(t);
}

void hly_broadcast_unpin(hly_broadcast_table *t) {
  hly_broadcast *b = t->owner;
  hly_broadcast_table *dead = NULL;
  pthread_mutex_lock(&mutex);
  bool last = unpin(t, &dead);
  pthread_mutex_unlock(&mutex);
  destroy_all(dead);
  if (last) hly_free(b);
}

// ---- What is known of a table's keys.

static hly_broadcast_keys *find_keys(const hly_broadcast_table *t, const uint32_t *which, uint32_t n) {
  hly_broadcast_keys *k = t->keys;
  while (k && (k->n != n || memcmp(k->which, which, n * sizeof *which))) k = k->next;
  return k;
}

static hly_broadcast_keys *make_keys(hly_broadcast_table *t, const uint32_t *which, uint32_t n) {
  hly_broadcast_keys *k = hly_calloc(1, sizeof *k + n * sizeof *which);
  if (!k) return NULL;
  memcpy(k->which, which, n * sizeof *which);
  k->n = n;
  k->next = t->keys;
  t->keys = k;
  return k;
}

hly_status hly_broadcast_find_keys(hly_broadcast_table *t, hly_ctx *ctx, const uint32_t *which, uint32_t n,
                                   hly_broadcast_keys **out, bool *build) {
  *out = NULL;
  *build = false;
  pthread_mutex_lock(&mutex);
  hly_broadcast_keys *k = find_keys(t, which, n);
  if (!k) k = make_keys(t, which, n);
  hly_status st = k ? await(&k->state, ctx, build) : HLY_OK;
  pthread_mutex_unlock(&mutex);
  HLY_CHECK_MEM(ctx, k, sizeof *k + n * sizeof *which);
  HLY_TRY(st);
  *out = k;
  return HLY_OK;
}

void hly_broadcast_publish_keys(hly_broadcast_table *t, hly_broadcast_keys *keys) {
  pthread_mutex_lock(&mutex);
  turn(&keys->state, READY);
  counts.key_sets++;
  counts.bytes += keys->set.n_bytes;
  pthread_mutex_unlock(&mutex);
}

void hly_broadcast_abandon_keys(hly_broadcast_keys *keys) {
  pthread_mutex_lock(&mutex);
  turn(&keys->state, EMPTY);
  pthread_mutex_unlock(&mutex);
}

hly_broadcast_counts hly_broadcast_count(void) {
  pthread_mutex_lock(&mutex);
  hly_broadcast_counts out = counts;
  pthread_mutex_unlock(&mutex);
  return out;
}
