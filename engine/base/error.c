#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "halley/status.h"

static const char *const conditions[HLY_N_ERRORS] = {
#define X(id, condition, sqlstate, kind) [HLY_E_##id] = condition,
#include "halley/errors.def"
#undef X
};

static void add_param(hly_error *error, const char *name, const char *value) {
  if (error->n_params == HLY_ERROR_MAX_PARAMS || error->n_text >= HLY_ERROR_TEXT) return;
  uint32_t room = HLY_ERROR_TEXT - error->n_text - 1;
  uint32_t n = (uint32_t)strnlen(value, room);
  error->params[error->n_params].name = name;
  error->params[error->n_params].value = error->n_text;
  error->n_params++;
  memcpy(error->text + error->n_text, value, n);
  error->text[error->n_text + n] = 0;
  error->n_text += n + 1;
}

// The first error is the cause; what fails while unwinding from it must not hide it.
static hly_status begin(hly_error *error, hly_error_id id) {
  if (error->status != HLY_OK) return error->status;
  error->status = id == HLY_E_NO_MEMORY ? HLY_NOMEM : HLY_ERR;
  error->id = id;
  error->jvm_ref = 0;
  error->n_params = 0;
  error->n_text = 0;
  return HLY_OK;
}

hly_status hly_error_set(hly_error *error, hly_error_id id, int n_params, ...) {
  hly_status earlier = begin(error, id);
  if (earlier != HLY_OK) return earlier;
  va_list args;
  va_start(args, n_params);
  for (int i = 0; i < n_params; i++) {
    const char *name = va_arg(args, const char *);
    const char *value = va_arg(args, const char *);
    add_param(error, name, value ? value : "");
  }
  va_end(args);
  return error->status;
}

hly_status hly_error_setf(hly_error *error, hly_error_id id, const char *format, ...) {
  hly_status earlier = begin(error, id);
  if (earlier != HLY_OK) return earlier;
  char text[HLY_ERROR_TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  add_param(error, "message", text);
  return error->status;
}

hly_status hly_error_nomem(hly_error *error, int64_t n_bytes) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)n_bytes);
  return hly_error_set(error, HLY_E_NO_MEMORY, 2, "requestedBytes", text, "receivedBytes", "0");
}

void hly_error_clear(hly_error *error) {
  error->status = HLY_OK;
  error->id = (hly_error_id)0;
  error->jvm_ref = 0;
  error->n_params = 0;
  error->n_text = 0;
  error->text[0] = 0;
}

const char *hly_error_condition(const hly_error *error) {
  if (error->status == HLY_OK || error->jvm_ref || (unsigned)error->id >= HLY_N_ERRORS) return "";
  return conditions[error->id];
}

void hly_error_print(const hly_error *error, char *out, uint32_t size) {
  if (!size) return;
  if (error->status == HLY_OK) {
    out[0] = 0;
    return;
  }
  if (error->jvm_ref) {
    snprintf(out, size, "[a throwable of the host]");
    return;
  }
  int n = snprintf(out, size, "[%s]", hly_error_condition(error));
  for (int i = 0; i < error->n_params && n >= 0 && (uint32_t)n < size; i++) {
    int more = snprintf(out + n, size - (uint32_t)n, "%s%s=%s", i ? ", " : " ", error->params[i].name,
                        error->text + error->params[i].value);
    if (more < 0) return;
    n += more;
  }
}
