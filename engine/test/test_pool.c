#include "fixture.h"

#include <pthread.h>
#include <string.h>

enum { MB = 1 << 20 };

// An operator's state: spills all of it, notes that it was asked.
typedef struct state_of {
  hly_reservation *r;
  char name;
  bool stubborn; // frees nothing
} state_of;

static char asked[16];

static int64_t spill(void *arg, int64_t want) {
  state_of *s = arg;
  assert_true(want > 0);
  size_t n = strlen(asked);
  asked[n] = s->name;
  asked[n + 1] = 0;
  if (s->stubborn) return 0;
  int64_t bytes = hly_reservation_bytes(s->r);
  hly_reservation_shrink(s->r, bytes);
  return bytes;
}

static void make(hly_pool *pool, state_of *s, char name) {
  *s = (state_of){.name = name};
  s->r = hly_reservation_create(pool, "test", spill, s);
  assert_non_null(s->r);
}

static void largest_spills_first(void **state) {
  hly_pool *pool = hly_pool_create_limited(100);
  state_of a, b, c;
  make(pool, &a, 'a');
  make(pool, &b, 'b');
  make(pool, &c, 'c');
  hly_reservation *mute = hly_reservation_create(pool, "cannot be asked", NULL, NULL);
  asked[0] = 0;
  assert_int_equal(hly_reservation_grow(mute, 10), HLY_OK);
  assert_int_equal(hly_reservation_grow(a.r, 20), HLY_OK);
  assert_int_equal(hly_reservation_grow(b.r, 40), HLY_OK);
  assert_int_equal(hly_reservation_grow(c.r, 30), HLY_OK);
  assert_string_equal(asked, "");
  assert_int_equal(hly_reservation_grow(a.r, 50), HLY_OK); // b is enough with what its going leaves
  assert_string_equal(asked, "bc");
  assert_int_equal(hly_reservation_bytes(a.r), 70);
  assert_int_equal(hly_reservation_bytes(b.r), 0);
  // Never itself, and nothing is reserved.
  asked[0] = 0;
  assert_int_equal(hly_reservation_grow(a.r, 21), HLY_DENIED);
  assert_string_equal(asked, "");
  assert_int_equal(hly_reservation_bytes(a.r), 70);
  assert_int_equal(hly_reservation_grow(a.r, 20), HLY_OK);
  assert_int_equal(hly_reservation_grow(c.r, 91), HLY_DENIED); // even when all others spill
  assert_string_equal(asked, "a");
  assert_int_equal(hly_reservation_grow(c.r, 90), HLY_OK);
  hly_reservation_force(b.r, 1000); // cannot be refused
  assert_int_equal(hly_reservation_bytes(b.r), 1000);
  assert_int_equal(hly_reservation_grow(a.r, 1), HLY_OK); // b goes
  assert_int_equal(hly_reservation_peak(b.r), 1000);
  hly_pool_record(pool, 5000); // a limited pool bounds state only
  assert_int_equal(hly_reservation_grow(a.r, 1), HLY_OK);
  hly_pool_record(pool, -5000);
  hly_reservation_destroy(a.r);
  hly_reservation_destroy(c.r);
  hly_reservation_destroy(b.r);
  hly_reservation_destroy(mute);
  hly_reservation_destroy(NULL);
  assert_int_equal(hly_pool_destroy(pool), 0);
}

// Each of the consumers may have its part of the fair bytes; who holds less than a mebibyte is none.
static void fair_shares(void **state) {
  hly_pool *pool = hly_pool_create_limited(1000ll * MB);
  state_of a, b, c, d;
  make(pool, &a, 'a');
  make(pool, &b, 'b');
  make(pool, &c, 'c');
  make(pool, &d, 'd');
  hly_reservation *mute = hly_reservation_create(pool, "cannot be asked", NULL, NULL);
  hly_pool_share(pool, 60 * MB);
  asked[0] = 0;
  assert_int_equal(hly_reservation_grow(d.r, MB - 1), HLY_OK);
  assert_int_equal(hly_reservation_grow(a.r, 60 * MB + 1), HLY_DENIED);
  assert_int_equal(hly_reservation_bytes(a.r), 0);
  assert_int_equal(hly_reservation_grow(a.r, 60 * MB), HLY_OK);
  assert_int_equal(hly_reservation_grow(a.r, 1), HLY_DENIED);
  assert_int_equal(hly_reservation_grow(mute, 100 * MB), HLY_OK); // nothing would come of refusing it
  // A second one halves the share; what the first has beyond it stays until it wants more.
  assert_int_equal(hly_reservation_grow(b.r, 30 * MB + 1), HLY_DENIED);
  assert_int_equal(hly_reservation_grow(b.r, 30 * MB), HLY_OK);
  hly_reservation_shrink(a.r, 35 * MB);
  assert_int_equal(hly_reservation_grow(a.r, 5 * MB + 1), HLY_DENIED);
  assert_int_equal(hly_reservation_grow(a.r, 5 * MB), HLY_OK);
  hly_reservation_force(b.r, 10 * MB); // cannot be refused
  assert_int_equal(hly_reservation_grow(c.r, 20 * MB + 1), HLY_DENIED);
  assert_int_equal(hly_reservation_grow(c.r, 20 * MB), HLY_OK);
  // Gone, or with nothing left: no consumer.
  hly_reservation_shrink(a.r, 30 * MB - 1);
  assert_int_equal(hly_reservation_grow(c.r, 10 * MB), HLY_OK);
  hly_reservation_destroy(b.r);
  assert_int_equal(hly_reservation_grow(c.r, 30 * MB), HLY_OK);
  assert_int_equal(hly_reservation_grow(c.r, 1), HLY_DENIED);
  // A mebibyte is granted whatever the share.
  hly_pool_share(pool, 10);
  assert_int_equal(hly_reservation_grow(a.r, MB - 1), HLY_OK);
  assert_int_equal(hly_reservation_grow(a.r, 1), HLY_DENIED);
  hly_pool_share(pool, 0);
  assert_int_equal(hly_reservation_grow(a.r, 500 * MB), HLY_OK);
  assert_string_equal(asked, ""); // nobody spills for another's share
  hly_reservation_destroy(a.r);
  hly_reservation_destroy(c.r);
  hly_reservation_destroy(d.r);
  hly_reservation_destroy(mute);
  assert_int_equal(hly_pool_destroy(pool), 0);
}

static void grows_in_steps(void **state) {
  test_host host;
  test_host_init(&host, 10 * MB);
  hly_pool *pool = hly_pool_create(&host.host);
  state_of a;
  make(pool, &a, 'a');
  assert_int_equal(hly_reservation_grow(a.r, 1), HLY_OK);
  assert_int_equal(host.granted, MB);
  assert_int_equal(hly_reservation_grow(a.r, MB - 1), HLY_OK);
  assert_int_equal(host.granted, MB);
  assert_int_equal(hly_reservation_grow(a.r, 1), HLY_OK);
  assert_int_equal(host.granted, 2 * MB);
  assert_int_equal(hly_reservation_grow(a.r, 7 * MB), HLY_OK);
  hly_reservation_shrink(a.r, 8 * MB); // one step of slack stays
  assert_int_equal(hly_reservation_bytes(a.r), 1);
  assert_int_equal(host.granted, MB + 1);
  assert_int_equal(hly_reservation_grow(a.r, 10 * MB), HLY_DENIED);
  assert_int_equal(host.granted, 1); // what a refusal leaves over goes back at once
  assert_int_equal(hly_reservation_grow(a.r, 9 * MB), HLY_OK);
  hly_reservation_shrink(a.r, 100 * MB); // more than it has
  assert_int_equal(hly_reservation_bytes(a.r), 0);
  hly_reservation_destroy(a.r);
  assert_int_equal(hly_pool_destroy(pool), 0);
  assert_int_equal(host.granted, 0);
}

static void working_bytes_are_never_refused(void **state) {
  test_host host;
  test_host_init(&host, 2 * MB);
  hly_pool *pool = hly_pool_create(&host.host);
  state_of a;
  make(pool, &a, 'a');
  hly_pool_record(pool, 3 * MB); // one in debt
  assert_int_equal(host.granted, 2 * MB);
  asked[0] = 0;
  assert_int_equal(hly_reservation_grow(a.r, 1), HLY_DENIED);
  assert_int_equal(hly_reservation_grow(a.r, 0), HLY_OK);
  hly_reservation_force(a.r, 10);
  host.limit = 20 * MB;
  assert_int_equal(hly_reservation_grow(a.r, 1), HLY_OK); // the debt is paid with it
  assert_int_equal(host.granted, 4 * MB);
  hly_pool_record(pool, -3 * MB);
  assert_true(host.granted <= 2 * MB);
  hly_reservation_destroy(a.r);
  assert_int_equal(hly_pool_destroy(pool), 0);
  assert_int_equal(host.granted, 0);
}

static void leaks_are_told(void **state) {
  test_host host;
  test_host_init(&host, -1);
  hly_pool *pool = hly_pool_create(&host.host);
  hly_pool_record(pool, 77);
  assert_int_equal(hly_pool_destroy(pool), 77);
  assert_int_equal(host.granted, 0);
  pool = hly_pool_create(NULL); // nobody to ask: unlimited
  hly_reservation *r = hly_reservation_create(pool, "test", NULL, NULL);
  assert_int_equal(hly_reservation_grow(r, 1ll << 50), HLY_OK);
  hly_reservation_destroy(r);
  assert_int_equal(hly_pool_destroy(pool), 0);
}

// A host that asks the task to spill while it is being asked, as Spark's TaskMemoryManager does.
typedef struct reentrant {
  test_host base;
  hly_pool *pool;
  int64_t (*acquire)(void *arg, int64_t n);
  int64_t freed;
  bool threaded;
} reentrant;

static void *spill_thread(void *arg) {
  reentrant *h = arg;
  h->freed = hly_pool_spill(h->pool, 1);
  return NULL;
}

static int64_t spilling_acquire(void *arg, int64_t n) {
  reentrant *h = arg;
  int64_t got = h->acquire(arg, n);
  if (got == n) return got;
  if (h->threaded) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, spill_thread, h), 0);
    pthread_join(thread, NULL);
  } else {
    spill_thread(h);
  }
  return got + h->acquire(arg, n - got);
}

static void spill_inside_acquire(void **state) {
  for (int threaded = 0; threaded < 2; threaded++) {
    reentrant h = {.threaded = threaded};
    test_host_init(&h.base, 4 * MB);
    h.acquire = h.base.host.mem_acquire;
    h.base.host.mem_acquire = spilling_acquire;
    hly_pool *pool = h.pool = hly_pool_create(&h.base.host);
    state_of a, b;
    make(pool, &a, 'a');
    make(pool, &b, 'b');
    asked[0] = 0;
    hly_pool_enter(pool);
    assert_int_equal(hly_reservation_grow(b.r, MB), HLY_OK);
    assert_int_equal(hly_reservation_grow(a.r, 3 * MB), HLY_OK);
    // a is larger, but it is the one that grows
    assert_int_equal(hly_reservation_grow(a.r, MB), HLY_OK);
    assert_string_equal(asked, "b");
    assert_int_equal(h.freed, MB);
    assert_int_equal(hly_reservation_bytes(a.r), 4 * MB);
    // the plan is locked again: another thread is sent away
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, spill_thread, &h), 0);
    pthread_join(thread, NULL);
    assert_int_equal(h.freed, 0);
    assert_int_equal(hly_pool_spill(pool, 1), 0); // and so is this one
    hly_pool_leave(pool);
    assert_int_equal(pthread_create(&thread, NULL, spill_thread, &h), 0);
    pthread_join(thread, NULL);
    assert_int_equal(h.freed, 4 * MB);
    assert_int_equal(h.base.granted, 0);
    hly_reservation_destroy(a.r);
    hly_reservation_destroy(b.r);
    assert_int_equal(hly_pool_destroy(pool), 0);
  }
}

static void spill_stops_when_it_has_enough(void **state) {
  test_host host;
  test_host_init(&host, -1);
  hly_pool *pool = hly_pool_create(&host.host);
  state_of a, b, c;
  make(pool, &a, 'a');
  make(pool, &b, 'b');
  make(pool, &c, 'c');
  b.stubborn = true;
  assert_int_equal(hly_reservation_grow(a.r, 2 * MB), HLY_OK);
  assert_int_equal(hly_reservation_grow(b.r, 3 * MB), HLY_OK);
  assert_int_equal(hly_reservation_grow(c.r, MB), HLY_OK);
  asked[0] = 0;
  assert_int_equal(hly_pool_spill(pool, MB), 2 * MB);
  assert_string_equal(asked, "ba");
  assert_int_equal(host.granted, 4 * MB);
  asked[0] = 0;
  assert_int_equal(hly_pool_spill(pool, 100 * MB), MB);
  assert_string_equal(asked, "bc");
  hly_reservation_destroy(a.r);
  hly_reservation_destroy(b.r);
  hly_reservation_destroy(c.r);
  assert_int_equal(hly_pool_destroy(pool), 0);
}

typedef struct race {
  hly_pool *pool;
  bool stop;
} race;

static void *spill_often(void *arg) {
  race *x = arg;
  while (!__atomic_load_n(&x->stop, __ATOMIC_ACQUIRE)) hly_pool_spill(x->pool, MB);
  return NULL;
}

// One thread runs the plan, another spills whenever it may: the plan's state is only touched by one at once.
static void spills_from_another_thread(void **state) {
  race x = {.pool = hly_pool_create_limited(64 * MB)};
  state_of a, b;
  make(x.pool, &a, 'a');
  make(x.pool, &b, 'b');
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, spill_often, &x), 0);
  for (int i = 0; i < 2000; i++) {
    hly_pool_enter(x.pool);
    asked[0] = 0; // spill() writes to it: the lock orders us
    int64_t had = hly_reservation_bytes(a.r);
    assert_int_equal(hly_reservation_grow(a.r, 100), HLY_OK);
    assert_int_equal(hly_reservation_bytes(a.r), had + 100);
    hly_reservation_force(b.r, 50);
    asked[0] = 0;
    hly_pool_leave(x.pool);
  }
  __atomic_store_n(&x.stop, true, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  hly_reservation_destroy(a.r);
  hly_reservation_destroy(b.r);
  assert_int_equal(hly_pool_destroy(x.pool), 0);
}

static hly_status little_pool(void *arg) {
  hly_pool *pool = hly_pool_create_limited(100);
  if (!pool) return HLY_NOMEM;
  hly_reservation *r = hly_reservation_create(pool, "test", NULL, NULL);
  hly_status st = r ? hly_reservation_grow(r, 10) : HLY_NOMEM;
  hly_reservation_destroy(r);
  hly_pool_destroy(pool);
  return st;
}

static void failing_allocations(void **state) {
  test_failing_allocations(little_pool, NULL, 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(largest_spills_first),
      cmocka_unit_test(fair_shares),
      cmocka_unit_test(grows_in_steps),
      cmocka_unit_test(working_bytes_are_never_refused),
      cmocka_unit_test(leaks_are_told),
      cmocka_unit_test(spill_inside_acquire),
      cmocka_unit_test(spill_stops_when_it_has_enough),
      cmocka_unit_test(spills_from_another_thread),
      cmocka_unit_test(failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
