// org.apache.comet.Native: handles and addresses in, engine calls, statuses out as exceptions. No logic.
#include <string.h>

#include "base/mem.h"
#include "expr/registry.h"
#include "jni/upcalls.h"
#include "operators/broadcast_table.h"
#include "plan.pb-c.h"

enum { MAX_PATH_BYTES = 4096 };

#define JNI_METHOD(type, name, ...)                                                                          \
  JNIEXPORT type JNICALL Java_org_apache_comet_Native_##name(JNIEnv *env, jclass cls, ##__VA_ARGS__);        \
  JNIEXPORT type JNICALL Java_org_apache_comet_Native_##name(JNIEnv *env, jclass cls, ##__VA_ARGS__)

static jclass native_errors, string_class;
static jmethodID errors_raise, errors_cancelled;

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
  JNIEnv *env = NULL;
  if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK) return JNI_ERR;
  jclass cls = (*env)->FindClass(env, "org/apache/comet/NativeErrors");
  if (!cls) return JNI_ERR;
  native_errors = (*env)->NewGlobalRef(env, cls);
  errors_raise = (*env)->GetStaticMethodID(
      env, cls, "raise",
      "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;[Ljava/lang/String;[Ljava/lang/String;"
      "Ljava/lang/String;)Ljava/lang/Throwable;");
  if (!errors_raise) return JNI_ERR;
  errors_cancelled = (*env)->GetStaticMethodID(env, cls, "cancelled", "()Ljava/lang/Throwable;");
  if (!errors_cancelled) return JNI_ERR;
  cls = (*env)->FindClass(env, "java/lang/String");
  if (!cls) return JNI_ERR;
  string_class = (*env)->NewGlobalRef(env, cls);
  return jni_upcalls_load(vm, env) ? JNI_VERSION_1_8 : JNI_ERR;
}

// ---- Exceptions --------------------------------------------------------------------------------------

static const char *const error_states[] = {
#define X(id, condition, sqlstate, kind) sqlstate,
#include "halley/errors.def"
#undef X
};

static const char *const error_kinds[] = {
#define X(id, condition, sqlstate, kind) #kind,
#include "halley/errors.def"
#undef X
};

// Throws what a static method of NativeErrors made (or what it threw itself).
static void throw_made(JNIEnv *env, jthrowable made) {
  if (!(*env)->ExceptionCheck(env) && made) (*env)->Throw(env, made);
}

static void throw_error(JNIEnv *env, const hly_error *error) {
  if (error->jvm_ref) {
    (*env)->Throw(env, (jthrowable)(intptr_t)error->jvm_ref);
    return;
  }
  if ((*env)->PushLocalFrame(env, 2 * HLY_ERROR_MAX_PARAMS + 8) != 0) return;
  char text[HLY_ERROR_TEXT + 256];
  hly_error_print(error, text, sizeof text);
  jobjectArray names = (*env)->NewObjectArray(env, error->n_params, string_class, NULL);
  jobjectArray values = names ? (*env)->NewObjectArray(env, error->n_params, string_class, NULL) : NULL;
  for (int32_t i = 0; values && i < error->n_params; i++) {
    jstring name = jni_string(env, error->params[i].name);
    jstring value = name ? jni_string(env, error->text + error->params[i].value) : NULL;
    if (!value) break;
    (*env)->SetObjectArrayElement(env, names, i, name);
    (*env)->SetObjectArrayElement(env, values, i, value);
  }
  jthrowable made = NULL;
  if (!(*env)->ExceptionCheck(env)) {
    bool known = (int)error->id >= 0 && error->id < HLY_N_ERRORS;
    jstring condition = jni_string(env, hly_error_condition(error));
    jstring state = condition ? jni_string(env, known ? error_states[error->id] : "XX000") : NULL;
    jstring kind = state ? jni_string(env, known ? error_kinds[error->id] : "INTERNAL") : NULL;
    jstring message = kind ? jni_string(env, text) : NULL;
    if (message)
      made = (*env)->CallStaticObjectMethod(env, native_errors, errors_raise, condition, state, kind, names,
                                            values, message);
  }
  made = (*env)->PopLocalFrame(env, made);
  throw_made(env, made);
}

// Turns the outcome of an engine call into a pending exception; true when there is none.
static bool finish(JNIEnv *env, jni_pool *pool, hly_status st, const hly_error *error) {
  if (pool && pool->thrown) {
    jthrowable thrown = pool->thrown;
    pool->thrown = NULL;
    (*env)->Throw(env, thrown);
    (*env)->DeleteGlobalRef(env, thrown);
    return false;
  }
  if (st == HLY_OK) return true;
  if (st == HLY_CANCELLED)
    throw_made(env, (*env)->CallStaticObjectMethod(env, native_errors, errors_cancelled));
  else
    throw_error(env, error);
  return false;
}

static void throw_nomem(JNIEnv *env, int64_t n_bytes) {
  hly_error error = {0};
  finish(env, NULL, hly_error_nomem(&error, n_bytes), &error);
}

// Bytes of a Java array, to be freed; NULL with a pending exception.
static uint8_t *copy_bytes(JNIEnv *env, jbyteArray array, size_t *n) {
  *n = (size_t)(*env)->GetArrayLength(env, array);
  uint8_t *bytes = hly_malloc(*n ? *n : 1);
  if (!bytes) {
    throw_nomem(env, (int64_t)*n);
    return NULL;
  }
  (*env)->GetByteArrayRegion(env, array, 0, (jsize)*n, (jbyte *)bytes);
  return bytes;
}

// ---- Library -----------------------------------------------------------------------------------------

JNI_METHOD(jstring, version) {
  return jni_string(env, hly_version());
}

JNI_METHOD(jstring, registryJson) {
  hly_ctx ctx = {0};
  char *json = NULL;
  size_t n_bytes = 0, capacity = 0;
  hly_status st = hly_registry_json(&ctx, &json, &n_bytes, &capacity);
  jstring out = finish(env, NULL, st, &ctx.error) ? jni_string(env, json) : NULL;
  hly_free(json);
  return out;
}

JNI_METHOD(jbyteArray, bind, jbyteArray request) {
  size_t n;
  uint8_t *bytes = copy_bytes(env, request, &n);
  if (!bytes) return NULL;
  hly_error error = {0};
  uint8_t *response = NULL;
  size_t n_response = 0;
  hly_status st = hly_plan_bind(bytes, n, &error, &response, &n_response);
  hly_free(bytes);
  jbyteArray out = NULL;
  if (finish(env, NULL, st, &error)) {
    out = (*env)->NewByteArray(env, (jsize)n_response);
    if (out) (*env)->SetByteArrayRegion(env, out, 0, (jsize)n_response, (const jbyte *)response);
  }
  hly_response_free(response);
  return out;
}

JNI_METHOD(jlong, memoryInUse) {
  return hly_mem_in_use();
}

// ---- Broadcasts --------------------------------------------------------------------------------------

JNI_METHOD(jlong, openBroadcast) {
  hly_broadcast *b = hly_broadcast_open();
  if (!b) throw_nomem(env, 64);
  return (jlong)(intptr_t)b;
}

JNI_METHOD(void, closeBroadcast, jlong handle) {
  hly_broadcast_close((hly_broadcast *)(intptr_t)handle);
}

JNI_METHOD(jlongArray, broadcastTables) {
  hly_broadcast_counts counts = hly_broadcast_count();
  const jlong values[] = {counts.tables, counts.bytes, counts.built};
  jlongArray out = (*env)->NewLongArray(env, 3);
  if (out) (*env)->SetLongArrayRegion(env, out, 0, 3, values);
  return out;
}

// ---- Pools -------------------------------------------------------------------------------------------

JNI_METHOD(jlong, openPool, jobject host) {
  jni_pool *pool = hly_calloc(1, sizeof *pool);
  if (!pool) {
    throw_nomem(env, sizeof *pool);
    return 0;
  }
  jni_pool_host(pool);
  pool->memory_host = (*env)->NewGlobalRef(env, host);
  pool->pool = pool->memory_host ? hly_pool_create(&pool->host) : NULL;
  if (!pool->pool) {
    if (pool->memory_host) (*env)->DeleteGlobalRef(env, pool->memory_host);
    hly_free(pool);
    throw_nomem(env, sizeof *pool);
    return 0;
  }
  return (jlong)(intptr_t)pool;
}

JNI_METHOD(jlong, spill, jlong pool, jlong bytes) {
  return hly_pool_spill(((jni_pool *)(intptr_t)pool)->pool, bytes);
}

JNI_METHOD(jlong, closePool, jlong handle) {
  jni_pool *pool = (jni_pool *)(intptr_t)handle;
  int64_t left = hly_pool_destroy(pool->pool);
  if (pool->thrown) (*env)->DeleteGlobalRef(env, pool->thrown);
  (*env)->DeleteGlobalRef(env, pool->memory_host);
  hly_free(pool);
  return left;
}

// ---- Plans -------------------------------------------------------------------------------------------

static void plan_destroy(JNIEnv *env, jni_plan *p) {
  hly_plan_close(p->plan);
  jni_plan_release(env, p);
  hly_free(p);
}

JNI_METHOD(jlong, open, jbyteArray stage, jbyteArray task, jobject host, jlong pool) {
  jni_plan *p = hly_calloc(1, sizeof *p);
  if (!p) {
    throw_nomem(env, sizeof *p);
    return 0;
  }
  p->pool = (jni_pool *)(intptr_t)pool;
  p->task_host = (*env)->NewGlobalRef(env, host);
  jni_plan_host(p);
  size_t n_stage, n_task;
  uint8_t *stage_bytes = copy_bytes(env, stage, &n_stage);
  uint8_t *task_bytes = stage_bytes ? copy_bytes(env, task, &n_task) : NULL;
  bool ok = task_bytes && p->task_host;
  if (ok) {
    hly_error error = {0};
    hly_status st =
        hly_plan_open(stage_bytes, n_stage, task_bytes, n_task, &p->host, p->pool->pool, &error, &p->plan);
    ok = finish(env, p->pool, st, &error);
  }
  hly_free(stage_bytes);
  hly_free(task_bytes);
  if (ok) return (jlong)(intptr_t)p;
  plan_destroy(env, p);
  return 0;
}

JNI_METHOD(jlong, next, jlong handle) {
  jni_plan *p = (jni_plan *)(intptr_t)handle;
  const hly_export_batch *out = NULL;
  hly_status st = hly_plan_next(p->plan, &out);
  return finish(env, p->pool, st, hly_plan_error(p->plan)) ? (jlong)(intptr_t)out : 0;
}

JNI_METHOD(jlong, nextRows, jlong handle) {
  jni_plan *p = (jni_plan *)(intptr_t)handle;
  const hly_export_rows *out = NULL;
  hly_status st = hly_plan_next_rows(p->plan, &out);
  return finish(env, p->pool, st, hly_plan_error(p->plan)) ? (jlong)(intptr_t)out : 0;
}

JNI_METHOD(jlongArray, write, jlong handle, jstring data_file) {
  jni_plan *p = (jni_plan *)(intptr_t)handle;
  char path[MAX_PATH_BYTES];
  if (jni_string_get(env, data_file, path, sizeof path) < 0) {
    if ((*env)->ExceptionCheck(env)) return NULL;
    hly_error error = {0};
    finish(env, NULL, hly_error_setf(&error, HLY_E_INTERNAL, "the path of the shuffle file is too long"),
           &error);
    return NULL;
  }
  const int64_t *lengths = NULL;
  uint32_t n = 0;
  hly_status st = hly_plan_write(p->plan, path, &lengths, &n);
  if (!finish(env, p->pool, st, hly_plan_error(p->plan))) return NULL;
  jlongArray out = (*env)->NewLongArray(env, (jsize)n);
  if (out) (*env)->SetLongArrayRegion(env, out, 0, (jsize)n, (const jlong *)lengths);
  return out;
}

JNI_METHOD(jboolean, metrics, jlong handle, jint plan_id, jlongArray out) {
  jni_plan *p = (jni_plan *)(intptr_t)handle;
  int64_t slots[HALLEY__METRIC__N_METRICS];
  if (!hly_plan_metrics(p->plan, plan_id, slots, HALLEY__METRIC__N_METRICS)) return JNI_FALSE;
  jsize n = (*env)->GetArrayLength(env, out);
  (*env)->SetLongArrayRegion(env, out, 0, n < HALLEY__METRIC__N_METRICS ? n : HALLEY__METRIC__N_METRICS,
                             (const jlong *)slots);
  return JNI_TRUE;
}

JNI_METHOD(void, close, jlong handle) {
  if (handle) plan_destroy(env, (jni_plan *)(intptr_t)handle);
}
