#include "jni/upcalls.h"

#include <string.h>

#include "base/mem.h"

static JavaVM *java_vm;

static struct {
  jmethodID cancelled, input_next, broadcast, dispatch, raised, temp_file, file_open, file_read, file_close,
      input_file;
} task;

static struct { jmethodID acquire, release; } memory;

// JNI's own conversions speak a private form of UTF-8 that has no characters past U+FFFF.
static struct {
  jclass cls;
  jmethodID from_bytes, get_bytes;
  jobject utf8;
} string;

static bool load_string(JNIEnv *env) {
  jclass cls = (*env)->FindClass(env, "java/lang/String");
  if (!cls) return false;
  string.cls = (*env)->NewGlobalRef(env, cls);
  string.from_bytes = (*env)->GetMethodID(env, cls, "<init>", "([BLjava/nio/charset/Charset;)V");
  string.get_bytes = (*env)->GetMethodID(env, cls, "getBytes", "(Ljava/nio/charset/Charset;)[B");
  if (!string.from_bytes || !string.get_bytes) return false;
  jclass charsets = (*env)->FindClass(env, "java/nio/charset/StandardCharsets");
  if (!charsets) return false;
  jfieldID field = (*env)->GetStaticFieldID(env, charsets, "UTF_8", "Ljava/nio/charset/Charset;");
  if (!field) return false;
  jobject utf8 = (*env)->GetStaticObjectField(env, charsets, field);
  string.utf8 = (*env)->NewGlobalRef(env, utf8);
  (*env)->DeleteLocalRef(env, utf8);
  (*env)->DeleteLocalRef(env, charsets);
  (*env)->DeleteLocalRef(env, cls);
  return string.cls && string.utf8;
}

jstring jni_string(JNIEnv *env, const char *text) {
  size_t n = strlen(text);
  jbyteArray bytes = (*env)->NewByteArray(env, (jsize)n);
  if (!bytes) return NULL;
  (*env)->SetByteArrayRegion(env, bytes, 0, (jsize)n, (const jbyte *)text);
  jstring out = (*env)->NewObject(env, string.cls, string.from_bytes, bytes, string.utf8);
  (*env)->DeleteLocalRef(env, bytes);
  return (*env)->ExceptionCheck(env) ? NULL : out;
}

int32_t jni_string_get(JNIEnv *env, jstring text, char *out, uint32_t size) {
  jbyteArray bytes = (*env)->CallObjectMethod(env, text, string.get_bytes, string.utf8);
  if ((*env)->ExceptionCheck(env) || !bytes) return -1;
  jsize n = (*env)->GetArrayLength(env, bytes);
  if ((uint32_t)n < size) {
    (*env)->GetByteArrayRegion(env, bytes, 0, n, (jbyte *)out);
    out[n] = '\0';
  }
  (*env)->DeleteLocalRef(env, bytes);
  return (uint32_t)n < size ? n : -1;
}

bool jni_upcalls_load(JavaVM *vm, JNIEnv *env) {
  java_vm = vm;
  if (!load_string(env)) return false;
  jclass host = (*env)->FindClass(env, "org/apache/comet/TaskHost");
  if (!host) return false;
  const struct {
    jmethodID *id;
    const char *name, *signature;
  } methods[] = {
      {&task.cancelled, "cancelled", "()Z"},
      {&task.input_next, "inputNext", "(IJ)Z"},
      {&task.broadcast, "broadcast", "(I)J"},
      {&task.dispatch, "dispatch", "(IIJ)J"},
      {&task.raised, "raised", "(J)Ljava/lang/Throwable;"},
      {&task.temp_file, "tempFile", "()Ljava/lang/String;"},
      {&task.file_open, "fileOpen", "(Ljava/lang/String;)J"},
      {&task.file_read, "fileRead", "(JJJI)V"},
      {&task.file_close, "fileClose", "(J)V"},
      {&task.input_file, "inputFile", "(Ljava/lang/String;JJ)V"},
  };
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    *methods[i].id = (*env)->GetMethodID(env, host, methods[i].name, methods[i].signature);
    if (!*methods[i].id) return false;
  }
  (*env)->DeleteLocalRef(env, host);
  jclass memory_host = (*env)->FindClass(env, "org/apache/comet/MemoryHost");
  if (!memory_host) return false;
  memory.acquire = (*env)->GetMethodID(env, memory_host, "acquire", "(J)J");
  if (!memory.acquire) return false;
  memory.release = (*env)->GetMethodID(env, memory_host, "release", "(J)V");
  (*env)->DeleteLocalRef(env, memory_host);
  return memory.release != NULL;
}

JNIEnv *jni_env(void) {
  void *env = NULL;
  (*java_vm)->GetEnv(java_vm, &env, JNI_VERSION_1_8);
  return env;
}

// Keeps a throwable (a local reference, which is deleted) for as long as the plan lives. 0: no memory.
static int64_t keep(JNIEnv *env, jni_plan *p, jthrowable local) {
  if (p->n_kept == p->cap_kept) {
    uint32_t cap = p->cap_kept ? p->cap_kept * 2 : 4;
    jthrowable *grown = hly_realloc(p->kept, cap * sizeof *grown);
    if (!grown) return 0;
    p->kept = grown;
    p->cap_kept = cap;
  }
  jthrowable global = (*env)->NewGlobalRef(env, local);
  (*env)->DeleteLocalRef(env, local);
  if (!global) return 0;
  p->kept[p->n_kept++] = global;
  return (int64_t)(intptr_t)global;
}

static hly_status record(JNIEnv *env, jni_plan *p, jthrowable local, hly_error *error) {
  int64_t ref = keep(env, p, local);
  if (!ref) return hly_error_nomem(error, sizeof ref);
  if (error->status == HLY_OK) {
    error->status = HLY_ERR;
    error->id = HLY_E_HOST;
    error->jvm_ref = ref;
  }
  return HLY_ERR;
}

// After a call into the JVM: OK, or the error of what it threw.
static hly_status check(JNIEnv *env, jni_plan *p, hly_error *error) {
  jthrowable thrown = (*env)->ExceptionOccurred(env);
  if (!thrown) return HLY_OK;
  (*env)->ExceptionClear(env);
  return record(env, p, thrown, error);
}

// ---- TaskHost ----------------------------------------------------------------------------------------

static bool plan_cancelled(void *arg) {
  jni_plan *p = arg;
  if (p->pool->thrown) return true;
  JNIEnv *env = jni_env();
  jboolean cancelled = (*env)->CallBooleanMethod(env, p->task_host, task.cancelled);
  if ((*env)->ExceptionCheck(env)) {
    (*env)->ExceptionClear(env);
    return true;
  }
  return cancelled;
}

static hly_status plan_input_next(void *arg, int32_t handle, hly_input_block *block, bool *more,
                                  hly_error *error) {
  jni_plan *p = arg;
  JNIEnv *env = jni_env();
  *more = (*env)->CallBooleanMethod(env, p->task_host, task.input_next, (jint)handle, (jlong)(intptr_t)block);
  return check(env, p, error);
}

static hly_status plan_broadcast(void *arg, int32_t handle, struct hly_broadcast **value, hly_error *error) {
  jni_plan *p = arg;
  JNIEnv *env = jni_env();
  jlong address = (*env)->CallLongMethod(env, p->task_host, task.broadcast, (jint)handle);
  *value = (struct hly_broadcast *)(intptr_t)address;
  return check(env, p, error);
}

static hly_status plan_dispatch(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                                hly_error *error) {
  jni_plan *p = arg;
  JNIEnv *env = jni_env();
  jlong raised = (*env)->CallLongMethod(env, p->task_host, task.dispatch, (jint)plan_id, (jint)site,
                                        (jlong)(intptr_t)call);
  HLY_TRY(check(env, p, error));
  call->error = 0;
  if (raised) {
    jthrowable thrown = (*env)->CallObjectMethod(env, p->task_host, task.raised, raised);
    HLY_TRY(check(env, p, error));
    if (!thrown) return hly_error_setf(error, HLY_E_HOST, "the host lost what an expression raised");
    call->error = keep(env, p, thrown);
    if (!call->error) return hly_error_nomem(error, sizeof call->error);
  }
  return HLY_OK;
}

static hly_status plan_temp_file(void *arg, char *path, uint32_t size, hly_error *error) {
  jni_plan *p = arg;
  JNIEnv *env = jni_env();
  jstring name = (*env)->CallObjectMethod(env, p->task_host, task.temp_file);
  HLY_TRY(check(env, p, error));
  int32_t n = name ? jni_string_get(env, name, path, size) : -1;
  hly_status st = check(env, p, error);
  if (name) (*env)->DeleteLocalRef(env, name);
  if (st == HLY_OK && n <= 0)
    return hly_error_setf(error, HLY_E_HOST, "the path of a temporary file is longer than %u bytes", size);
  return st;
}

static hly_status plan_file_open(void *arg, const char *uri, int64_t *file, hly_error *error) {
  jni_plan *p = arg;
  JNIEnv *env = jni_env();
  jstring name = jni_string(env, uri);
  HLY_TRY(check(env, p, error));
  *file = (*env)->CallLongMethod(env, p->task_host, task.file_open, name);
  hly_status st = check(env, p, error);
  (*env)->DeleteLocalRef(env, name);
  return st;
}

static hly_status plan_file_read(void *arg, int64_t file, int64_t position, void *out, int32_t n,
                                 hly_error *error) {
  jni_plan *p = arg;
  JNIEnv *env = jni_env();
  (*env)->CallVoidMethod(env, p->task_host, task.file_read, (jlong)file, (jlong)position,
                         (jlong)(intptr_t)out, (jint)n);
  return check(env, p, error);
}

static void plan_file_close(void *arg, int64_t file) {
  jni_plan *p = arg;
  JNIEnv *env = jni_env();
  (*env)->CallVoidMethod(env, p->task_host, task.file_close, (jlong)file);
  // Only read from: what a close says can no longer matter.
  if ((*env)->ExceptionCheck(env)) (*env)->ExceptionClear(env);
}

static void plan_input_file(void *arg, const char *path, int64_t start, int64_t length) {
  jni_plan *p = arg;
  JNIEnv *env = jni_env();
  jstring name = jni_string(env, path);
  if (name) {
    (*env)->CallVoidMethod(env, p->task_host, task.input_file, name, (jlong)start, (jlong)length);
    (*env)->DeleteLocalRef(env, name);
  }
  if ((*env)->ExceptionCheck(env)) (*env)->ExceptionClear(env);
}

// ---- MemoryHost --------------------------------------------------------------------------------------

static int64_t pool_acquire(void *arg, int64_t n_bytes) {
  jni_pool *p = arg;
  JNIEnv *env = jni_env();
  jlong granted = (*env)->CallLongMethod(env, p->memory_host, memory.acquire, (jlong)n_bytes);
  jthrowable thrown = (*env)->ExceptionOccurred(env);
  if (!thrown) return granted;
  (*env)->ExceptionClear(env);
  if (!p->thrown) p->thrown = (*env)->NewGlobalRef(env, thrown);
  (*env)->DeleteLocalRef(env, thrown);
  return 0;
}

static void pool_release(void *arg, int64_t n_bytes) {
  jni_pool *p = arg;
  JNIEnv *env = jni_env();
  (*env)->CallVoidMethod(env, p->memory_host, memory.release, (jlong)n_bytes);
  if ((*env)->ExceptionCheck(env)) (*env)->ExceptionClear(env);
}

static int64_t plan_mem_acquire(void *arg, int64_t n_bytes) {
  jni_plan *p = arg;
  return pool_acquire(p->pool, n_bytes);
}

static void plan_mem_release(void *arg, int64_t n_bytes) {
  jni_plan *p = arg;
  pool_release(p->pool, n_bytes);
}

void jni_pool_host(jni_pool *pool) {
  pool->host = (hly_host){.arg = pool, .mem_acquire = pool_acquire, .mem_release = pool_release};
}

void jni_plan_host(jni_plan *plan) {
  plan->host = (hly_host){
      .arg = plan,
      .cancelled = plan_cancelled,
      .mem_acquire = plan_mem_acquire,
      .mem_release = plan_mem_release,
      .input_next = plan_input_next,
      .broadcast = plan_broadcast,
      .dispatch = plan_dispatch,
      .temp_file = plan_temp_file,
      .file_open = plan_file_open,
      .file_read = plan_file_read,
      .file_close = plan_file_close,
      .input_file = plan_input_file,
  };
}

void jni_plan_release(JNIEnv *env, jni_plan *plan) {
  for (uint32_t i = 0; i < plan->n_kept; i++) (*env)->DeleteGlobalRef(env, plan->kept[i]);
  hly_free(plan->kept);
  if (plan->task_host) (*env)->DeleteGlobalRef(env, plan->task_host);
}
