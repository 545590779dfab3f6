// Types and schemas from their messages.
#include <string.h>

#include "plan/binder.h"

// Deeper types than any schema has; bounds the recursion of whatever walks a type.
enum { MAX_TYPE_DEPTH = 64 };

static hly_status invalid(hly_binder *b, const char *what) {
  return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "plan message: %s", what);
}

static hly_status bind_fields(hly_binder *b, Halley__Field *const *fields, size_t n, uint32_t depth,
                              const hly_field **out);

static hly_status bind_type(hly_binder *b, const Halley__DataType *in, uint32_t depth, const hly_type **out) {
  if (!in) return invalid(b, "a type is missing");
  if (depth > MAX_TYPE_DEPTH) return hly_bind_refuse(b, "a type nested more than %d deep", MAX_TYPE_DEPTH);
  int kind = (int)in->kind;
  if (kind < 0 || kind >= HLY_N_KINDS) return invalid(b, "unknown kind of type");
  size_t want_fields = kind == HLY_ARRAY ? 1 : kind == HLY_MAP ? 2 : 0;
  if (kind != HLY_STRUCT && in->n_fields != want_fields)
    return invalid(b, "a type has a wrong number of fields");
  if (kind == HLY_DECIMAL) {
    if (in->precision < 1 || in->precision > 38) return invalid(b, "precision of a decimal out of range");
    if (in->scale < 0) return hly_bind_refuse(b, "decimal with a negative scale");
    if (in->scale > in->precision) return invalid(b, "scale of a decimal out of range");
    *out = hly_type_decimal(in->precision, in->scale);
    return *out ? HLY_OK : invalid(b, "decimal out of range");
  }
  bool collated = kind == HLY_STRING && in->collation && in->collation[0];
  if (!collated && kind != HLY_STRUCT && kind != HLY_TIME && kind != HLY_OTHER && !want_fields) {
    *out = hly_type_of((hly_kind)kind);
    if (*out) return HLY_OK;
  }
  hly_type *t = HLY_ARENA_NEW(b->arena, hly_type);
  HLY_CHECK_MEM(b->ctx, t, sizeof *t);
  t->kind = (hly_kind)kind;
  t->phys = hly_type_phys(t->kind, 0);
  if (kind == HLY_TIME) {
    if (in->precision < 0 || in->precision > 6) return invalid(b, "precision of a time out of range");
    t->precision = (uint8_t)in->precision;
  }
  if (collated) {
    t->collation = hly_arena_copy(b->arena, in->collation, strlen(in->collation));
    HLY_CHECK_MEM(b->ctx, t->collation, strlen(in->collation));
  }
  if (kind == HLY_OTHER) {
    const char *name = in->name ? in->name : "";
    t->name = hly_arena_copy(b->arena, name, strlen(name));
    HLY_CHECK_MEM(b->ctx, t->name, strlen(name));
  }
  if (in->n_fields) {
    HLY_TRY(bind_fields(b, in->fields, in->n_fields, depth + 1, &t->fields));
    t->n_fields = (uint32_t)in->n_fields;
  }
  *out = t;
  return HLY_OK;
}

static hly_status bind_fields(hly_binder *b, Halley__Field *const *fields, size_t n, uint32_t depth,
                              const hly_field **out) {
  if (n > UINT32_MAX / 2) return invalid(b, "too many fields");
  hly_field *f = HLY_ARENA_NEW_N(b->arena, hly_field, n ? n : 1);
  HLY_CHECK_MEM(b->ctx, f, n * sizeof *f);
  for (size_t i = 0; i < n; i++) {
    const char *name = fields[i]->name ? fields[i]->name : "";
    f[i].name = hly_arena_copy(b->arena, name, strlen(name));
    HLY_CHECK_MEM(b->ctx, f[i].name, strlen(name));
    HLY_TRY(bind_type(b, fields[i]->type, depth, &f[i].type));
    f[i].nullable = fields[i]->nullable;
    f[i].field_id = fields[i]->field_id;
    if (fields[i]->default_value) {
      hly_literal *lit = HLY_ARENA_NEW(b->arena, hly_literal);
      HLY_CHECK_MEM(b->ctx, lit, sizeof *lit);
      HLY_TRY(hly_bind_literal(b, fields[i]->default_value, lit));
      if (!hly_type_equal(lit->type, f[i].type))
        return invalid(b, "default value of another type than its field");
      f[i].default_value = lit;
    }
  }
  *out = f;
  return HLY_OK;
}

hly_status hly_bind_type(hly_binder *b, const Halley__DataType *in, const hly_type **out) {
  return bind_type(b, in, 0, out);
}

hly_status hly_bind_schema(hly_binder *b, Halley__Field *const *fields, size_t n, hly_schema *out) {
  HLY_TRY(bind_fields(b, fields, n, 0, &out->fields));
  out->n_fields = (uint32_t)n;
  return HLY_OK;
}
