#include "memory/pool.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"

// Two locks. The *plan lock* (owner, depth) says who may touch operators' state: the thread that runs the
// plan, or one that spills. The *mutex* guards the numbers and the list, for a few instructions; neither is
// held in a call to the host, because the host may wait for another thread that wants to spill us.

enum { STEP = 1 << 20 };

struct hly_reservation {
  hly_pool *pool;
  const char *name;
  hly_spill_fn spill;
  void *arg;
  int64_t bytes, peak;
  int64_t *shown_peak; // NULL: nowhere
  int pinned;          // is growing or spilling: not a victim now
  uint64_t asked;      // round in which it was asked last
  hly_reservation *next, *prev;
};

struct hly_pool {
  const hly_host *host;
  int64_t limit; // of deniable bytes, when there is no host; -1: none
  pthread_mutex_t mutex;
  pthread_cond_t left;
  pthread_t owner;
  int depth;
  int64_t deniable, working; // reserved and recorded
  int64_t granted;           // by the host; below deniable + working when bytes were not refused: the debt
  int64_t fair_bytes;        // what consumers divide among them; 0: no bound
  int n_consumers;           // spillable reservations of a step or more
  int64_t refused_at;        // need when the host last gave less than asked; 0: it did not
  int keeping;               // somebody collects memory: shrink gives nothing back to the host
  uint64_t round;
  hly_reservation *first;
};

static hly_pool *create(const hly_host *host, int64_t limit) {
  hly_pool *pool = hly_calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->host = host && host->mem_acquire ? host : NULL;
  pool->limit = limit;
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->left, NULL);
  return pool;
}

hly_pool *hly_pool_create(const hly_host *host) {
  return create(host, -1);
}

hly_pool *hly_pool_create_limited(int64_t limit) {
  return create(NULL, limit);
}

static void host_release(hly_pool *pool, int64_t n_bytes) {
  if (n_bytes > 0 && pool->host && pool->host->mem_release) pool->host->mem_release(pool->host->arg, n_bytes);
}

int64_t hly_pool_destroy(hly_pool *pool) {
  if (!pool) return 0;
  int64_t leaked = pool->deniable + pool->working;
  host_release(pool, pool->granted);
  pthread_cond_destroy(&pool->left);
  pthread_mutex_destroy(&pool->mutex);
  hly_free(pool);
  return leaked;
}

void hly_pool_share(hly_pool *pool, int64_t fair_bytes) {
  pthread_mutex_lock(&pool->mutex);
  pool->fair_bytes = fair_bytes;
  pthread_mutex_unlock(&pool->mutex);
}

// ---- the plan lock --------------------------------------------------------------------------------------

static bool is_mine(const hly_pool *pool) { // mutex held
  return pool->depth > 0 && pthread_equal(pool->owner, pthread_self());
}

static void take(hly_pool *pool, int depth) { // mutex held
  while (pool->depth > 0 && !is_mine(pool)) pthread_cond_wait(&pool->left, &pool->mutex);
  pool->owner = pthread_self();
  pool->depth += depth;
}

static void give(hly_pool *pool, int depth) { // mutex held
  pool->depth -= depth;
  if (pool->depth == 0) pthread_cond_broadcast(&pool->left);
}

void hly_pool_enter(hly_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  take(pool, 1);
  pthread_mutex_unlock(&pool->mutex);
}

void hly_pool_leave(hly_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  give(pool, 1);
  pthread_mutex_unlock(&pool->mutex);
}

// ---- granting -------------------------------------------------------------------------------------------

static int64_t need(const hly_pool *pool) { // mutex held; a limited pool bounds deniable bytes only
  return pool->deniable + (pool->host ? pool->working : 0);
}

// Asks for what `n_bytes` more would need, in whole steps. Mutex held, but not while the host is asked: it
// may re-enter hly_pool_spill on this thread, which therefore must find the plan unlocked.
static void ask(hly_pool *pool, int64_t n_bytes) {
  int64_t missing = need(pool) + n_bytes - pool->granted;
  if (missing <= 0) return;
  int64_t want = missing > INT64_MAX - STEP ? missing : (missing + STEP - 1) / STEP * STEP;
  if (!pool->host) {
    int64_t room = pool->limit < 0 ? want : pool->limit - pool->granted;
    pool->granted += want < room ? want : room > 0 ? room : 0;
    return;
  }
  int depth = is_mine(pool) ? pool->depth : 0;
  if (depth) give(pool, depth);
  pool->keeping++;
  pthread_mutex_unlock(&pool->mutex);
  int64_t got = pool->host->mem_acquire(pool->host->arg, want);
  pthread_mutex_lock(&pool->mutex);
  pool->keeping--;
  if (depth) take(pool, depth);
  if (got > 0) pool->granted += got;
  pool->refused_at = got < want && pool->granted < need(pool) + n_bytes ? need(pool) + n_bytes : 0;
}

// Gives what nobody needs back to the host, all but `keep` bytes. Mutex held, but not in the host.
static int64_t give_back(hly_pool *pool, int64_t keep) {
  int64_t slack = pool->granted - need(pool) - keep;
  if (slack <= 0) return 0;
  pool->granted -= slack;
  pthread_mutex_unlock(&pool->mutex);
  host_release(pool, slack);
  pthread_mutex_lock(&pool->mutex);
  return slack;
}

static bool is_consumer(const hly_reservation *r) {
  return r->spill && r->bytes >= STEP;
}

static void count(hly_reservation *r, int64_t delta) { // mutex held
  r->pool->n_consumers -= is_consumer(r);
  r->bytes += delta;
  r->pool->n_consumers += is_consumer(r);
  if (r->bytes > r->peak) r->peak = r->bytes;
  if (r->shown_peak && r->peak > *r->shown_peak) *r->shown_peak = r->peak;
  r->pool->deniable += delta;
}

// Whether n more bytes are more than r's share. Who has no state yet takes nothing from the others' shares.
static bool passes_share(const hly_reservation *r, int64_t n_bytes) { // mutex held
  const hly_pool *pool = r->pool;
  if (pool->fair_bytes <= 0 || !r->spill || n_bytes <= STEP - r->bytes) return false;
  int n = pool->n_consumers + !is_consumer(r);
  return n_bytes > pool->fair_bytes / n - r->bytes;
}

// The largest reservation that was not asked in this round yet.
static hly_reservation *victim(hly_pool *pool, uint64_t round) {
  hly_reservation *best = NULL;
  for (hly_reservation *r = pool->first; r; r = r->next)
    if (r->spill && !r->pinned && r->asked != round && r->bytes > 0 && (!best || r->bytes > best->bytes))
      best = r;
  return best;
}

// Mutex and plan lock held; the mutex is let go while a victim spills.
static void spill_one(hly_pool *pool, hly_reservation *r, uint64_t round, int64_t want) {
  r->asked = round;
  r->pinned++;
  pthread_mutex_unlock(&pool->mutex);
  r->spill(r->arg, want);
  pthread_mutex_lock(&pool->mutex);
  r->pinned--;
}

int64_t hly_pool_spill(hly_pool *pool, int64_t want) {
  pthread_mutex_lock(&pool->mutex);
  if (pool->depth > 0) { // running, even if it is this thread: not at an upcall
    pthread_mutex_unlock(&pool->mutex);
    return 0;
  }
  take(pool, 1);
  pool->keeping++;
  uint64_t round = ++pool->round;
  hly_reservation *r;
  while (pool->granted - need(pool) < want && (r = victim(pool, round)))
    spill_one(pool, r, round, want - (pool->granted - need(pool)));
  pool->keeping--;
  int64_t freed = give_back(pool, 0);
  give(pool, 1);
  pthread_mutex_unlock(&pool->mutex);
  return freed;
}

// ---- reservations ---------------------------------------------------------------------------------------

hly_reservation *hly_reservation_create(hly_pool *pool, const char *name, hly_spill_fn spill, void *arg) {
  hly_reservation *r = hly_calloc(1, sizeof *r);
  if (!r) return NULL;
  r->pool = pool;
  r->name = name;
  r->spill = spill;
  r->arg = arg;
  pthread_mutex_lock(&pool->mutex);
  r->next = pool->first;
  if (r->next) r->next->prev = r;
  pool->first = r;
  pthread_mutex_unlock(&pool->mutex);
  return r;
}

void hly_reservation_destroy(hly_reservation *r) {
  if (!r) return;
  hly_reservation_shrink(r, r->bytes);
  hly_pool *pool = r->pool;
  pthread_mutex_lock(&pool->mutex);
  if (r->prev)
    r->prev->next = r->next;
  else
    pool->first = r->next;
  if (r->next) r->next->prev = r->prev;
  pthread_mutex_unlock(&pool->mutex);
  hly_free(r);
}

hly_status hly_reservation_grow(hly_reservation *r, int64_t n_bytes) {
  hly_pool *pool = r->pool;
  hly_status st = HLY_OK;
  if (n_bytes <= 0) return HLY_OK; // nothing to refuse, whatever the debt
  pthread_mutex_lock(&pool->mutex);
  if (passes_share(r, n_bytes)) {
    st = HLY_DENIED;
  } else if (need(pool) + n_bytes > pool->granted) {
    r->pinned++;
    ask(pool, n_bytes);
    pool->keeping++;
    uint64_t round = ++pool->round;
    int64_t missing;
    hly_reservation *other;
    while ((missing = need(pool) + n_bytes - pool->granted) > 0 && (other = victim(pool, round))) {
      spill_one(pool, other, round, missing);
      // What the victim freed and what the host has by now may do together.
      if (need(pool) + n_bytes > pool->granted && pool->host) ask(pool, n_bytes);
    }
    pool->keeping--;
    r->pinned--;
    if (missing > 0) {
      give_back(pool, 0);
      st = HLY_DENIED;
    }
  }
  if (st == HLY_OK) count(r, n_bytes);
  pthread_mutex_unlock(&pool->mutex);
  return st;
}

void hly_reservation_force(hly_reservation *r, int64_t n_bytes) {
  hly_pool *pool = r->pool;
  pthread_mutex_lock(&pool->mutex);
  r->pinned++;
  ask(pool, n_bytes);
  r->pinned--;
  count(r, n_bytes);
  pthread_mutex_unlock(&pool->mutex);
}

void hly_reservation_shrink(hly_reservation *r, int64_t n_bytes) {
  hly_pool *pool = r->pool;
  pthread_mutex_lock(&pool->mutex);
  if (n_bytes > r->bytes) n_bytes = r->bytes;
  count(r, -n_bytes);
  if (!pool->keeping && pool->granted - need(pool) >= 2 * STEP) give_back(pool, STEP);
  pthread_mutex_unlock(&pool->mutex);
}

int64_t hly_reservation_bytes(const hly_reservation *r) {
  return r->bytes;
}

int64_t hly_reservation_peak(const hly_reservation *r) {
  return r->peak;
}

void hly_reservation_show_peak(hly_reservation *r, int64_t *peak) {
  r->shown_peak = peak;
}

void hly_pool_record(hly_pool *pool, int64_t delta) {
  pthread_mutex_lock(&pool->mutex);
  if (delta <= 0) {
    pool->working += delta;
    pool->refused_at = 0;
    if (!pool->keeping && pool->granted - need(pool) >= 2 * STEP) give_back(pool, STEP);
  } else {
    // After a refusal asks again only when a whole step more is needed: an upcall per batch would cost more
    // than the debt is worth.
    if (pool->host && (!pool->refused_at || need(pool) + delta >= pool->refused_at + STEP)) ask(pool, delta);
    pool->working += delta;
  }
  pthread_mutex_unlock(&pool->mutex);
}
