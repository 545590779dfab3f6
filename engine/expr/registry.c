#include "expr/registry.h"

#include <string.h>

#include "functions/functions.h"

#define HLY_MAP_1(p, a) p##a
#define HLY_MAP_2(p, a, ...) p##a, HLY_MAP_1(p, __VA_ARGS__)
#define HLY_MAP_3(p, a, ...) p##a, HLY_MAP_2(p, __VA_ARGS__)
#define HLY_MAP_4(p, a, ...) p##a, HLY_MAP_3(p, __VA_ARGS__)
#define HLY_MAP_5(p, a, ...) p##a, HLY_MAP_4(p, __VA_ARGS__)
#define HLY_MAP_6(p, a, ...) p##a, HLY_MAP_5(p, __VA_ARGS__)
#define HLY_MAP_7(p, a, ...) p##a, HLY_MAP_6(p, __VA_ARGS__)
#define HLY_MAP_PICK(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#define HLY_MAP(p, ...)                                                                                      \
  HLY_MAP_PICK(__VA_ARGS__, HLY_MAP_7, HLY_MAP_6, HLY_MAP_5, HLY_MAP_4, HLY_MAP_3, HLY_MAP_2, HLY_MAP_1, )   \
  (p, __VA_ARGS__)
#define HLY_OR_1(a) HLY_MODE_##a
#define HLY_OR_2(a, b) HLY_MODE_##a | HLY_MODE_##b
#define HLY_OR_3(a, b, c) HLY_MODE_##a | HLY_MODE_##b | HLY_MODE_##c
#define HLY_OR_PICK(_1, _2, _3, name, ...) name

#define ARGS(...)                                                                                            \
  { HLY_MAP(HLY_ARG_, __VA_ARGS__) }
#define PARAMS(...)                                                                                          \
  { __VA_ARGS__ }
#define MODES(...) (HLY_OR_PICK(__VA_ARGS__, HLY_OR_3, HLY_OR_2, HLY_OR_1, )(__VA_ARGS__))

const hly_fn hly_fns[] = {
#define FN(cls, args, result, nulls, flags, params, modes, bind)                                             \
  {#cls, args, HLY_RESULT_##result, HLY_NULLS_##nulls, flags, params, modes, bind, HLY_FORM_KERNEL},
#define FORM(cls, args, result, params, form)                                                                \
  {#cls, args, HLY_RESULT_##result, HLY_NULLS_CUSTOM, 0, params, HLY_MODE_NONE, NULL, HLY_FORM_##form},
#include "functions/functions.def"
    {NULL, {0}, 0, 0, 0, {NULL}, 0, NULL, 0},
};

const hly_fn *hly_fn_find(const char *cls) {
  for (const hly_fn *fn = hly_fns; fn->cls; fn++)
    if (!strcmp(fn->cls, cls)) return fn;
  return NULL;
}

const Halley__Param *hly_fn_param(const hly_fn_call *call, const char *name) {
  for (size_t i = 0; i < call->expr->n_params; i++)
    if (!strcmp(call->expr->params[i]->name, name)) return call->expr->params[i];
  return NULL;
}

bool hly_fn_param_bool(const hly_fn_call *call, const char *name, bool otherwise) {
  const Halley__Param *p = hly_fn_param(call, name);
  return p && p->value_case == HALLEY__PARAM__VALUE_BOOL_VALUE ? p->bool_value : otherwise;
}

const char *hly_fn_param_string(const hly_fn_call *call, const char *name, const char *otherwise) {
  const Halley__Param *p = hly_fn_param(call, name);
  return p && p->value_case == HALLEY__PARAM__VALUE_STRING_VALUE ? p->string_value : otherwise;
}

int64_t hly_fn_param_int(const hly_fn_call *call, const char *name, int64_t otherwise) {
  const Halley__Param *p = hly_fn_param(call, name);
  return p && p->value_case == HALLEY__PARAM__VALUE_INT_VALUE ? p->int_value : otherwise;
}

// Same type where a rule says so: decimals may differ in precision and scale, which kernels align.
static bool same_class(const hly_type *a, const hly_type *b) {
  return hly_type_equal(a, b) || (a->kind == HLY_DECIMAL && b->kind == HLY_DECIMAL);
}

static bool has_collation(const hly_type *t) {
  if (t->collation) return true;
  for (uint32_t i = 0; i < t->n_fields; i++)
    if (has_collation(t->fields[i].type)) return true;
  return false;
}

static bool arg_fits(uint32_t cls, const hly_fn_call *call, uint32_t i) {
  const hly_type *t = call->arg_types[i];
  if (cls & HLY_ARG_SAME) return same_class(call->arg_types[0], t);
  if (cls & HLY_ARG_SAME_AS_2) return call->n_args > 1 && same_class(call->arg_types[1], t);
  return cls >> t->kind & 1;
}

hly_status hly_fn_check(hly_binder *b, const hly_fn *fn, const hly_fn_call *call) {
  char text[128];
  uint32_t cls = 0, a = 0;
  for (uint32_t i = 0; i < call->n_args; i++) {
    if (!(fn->args[a] & HLY_ARG_REST)) {
      if (!fn->args[a]) return hly_bind_refuse(b, "%s: more arguments than the native form has", call->cls);
      cls = fn->args[a];
      if (a + 1 < HLY_FN_MAX_ARGS) a++;
    }
    if (!arg_fits(cls, call, i))
      return hly_bind_refuse(b, "%s: argument %u of type %s has no native form", call->cls, i + 1,
                             hly_type_print(call->arg_types[i], text, sizeof text));
    if (has_collation(call->arg_types[i]))
      return hly_bind_refuse(b, "%s: collation %s has no native form", call->cls,
                             call->arg_types[i]->collation ? call->arg_types[i]->collation
                                                           : "in a nested type");
  }
  if (fn->args[a] && !(fn->args[a] & HLY_ARG_REST))
    return hly_bind_refuse(b, "%s: fewer arguments than the native form has", call->cls);
  if (has_collation(call->type))
    return hly_bind_refuse(b, "%s: a collated result has no native form", call->cls);
  bool result_ok = true;
  switch (fn->result) {
  case HLY_RESULT_BOOL: result_ok = call->type->kind == HLY_BOOLEAN; break;
  case HLY_RESULT_INT: result_ok = call->type->kind == HLY_INT; break;
  case HLY_RESULT_SAME: result_ok = call->n_args > 0 && hly_type_equal(call->type, call->arg_types[0]); break;
  case HLY_RESULT_DECLARED: break;
  }
  if (!result_ok)
    return hly_bind_refuse(b, "%s: result type %s has no native form", call->cls,
                           hly_type_print(call->type, text, sizeof text));
  for (size_t i = 0; i < call->expr->n_params; i++) {
    bool declared = false;
    for (uint32_t k = 0; k < HLY_FN_MAX_PARAMS && fn->params[k]; k++)
      declared |= !strcmp(fn->params[k], "*") || !strcmp(fn->params[k], call->expr->params[i]->name);
    if (!declared)
      return hly_bind_refuse(b, "%s: parameter %s has no native form", call->cls,
                             call->expr->params[i]->name);
  }
  return HLY_OK;
}
