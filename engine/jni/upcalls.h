// The engine's host table on top of org.apache.comet.TaskHost and MemoryHost.
//
// A Java exception never stays pending while C code runs: an upcall that meets one keeps the throwable as a
// global reference, clears it, and fails with that reference as `hly_error.jvm_ref`. The call into the plan
// rethrows it unchanged.
#ifndef HLY_JNI_UPCALLS_H
#define HLY_JNI_UPCALLS_H

#include <jni.h>
#include <pthread.h>

#include "halley/halley.h"
#include "memory/pool.h"

// A task's pool and the MemoryHost under it.
typedef struct jni_pool {
  hly_host host;
  hly_pool *pool;
  jobject memory_host; // global reference
  // What MemoryHost.acquire threw (a killed task, a failed spill): no status goes through the pool, so the
  // call into the plan that was running rethrows it.
  jthrowable thrown;
} jni_pool;

// A plan and the TaskHost it was opened with.
typedef struct jni_plan {
  hly_host host;
  hly_plan *plan;
  jni_pool *pool;
  jobject task_host; // global reference
  // Throwables that an error record of this plan may still name.
  jthrowable *kept;
  uint32_t n_kept, cap_kept;
} jni_plan;

// Called once when the library is loaded: looks up classes and methods. False with a pending exception.
bool jni_upcalls_load(JavaVM *vm, JNIEnv *env);
// The environment of the current thread, which the JVM made.
JNIEnv *jni_env(void);

// A Java string of UTF-8 text (bytes that are no UTF-8 are replaced), NULL with a pending exception.
jstring jni_string(JNIEnv *env, const char *text);
// UTF-8 of a Java string with a NUL; its length, or -1 where it does not fit or an exception is pending.
int32_t jni_string_get(JNIEnv *env, jstring text, char *out, uint32_t size);

void jni_pool_host(jni_pool *pool); // fills in `host`
void jni_plan_host(jni_plan *plan);
void jni_plan_release(JNIEnv *env, jni_plan *plan); // global references

#endif
