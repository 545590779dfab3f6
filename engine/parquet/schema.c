#include "parquet/schema.h"

#include <stdio.h>
#include <string.h>

uint32_t hly_pq_schema_next(const hly_pq_metadata *m, uint32_t i) {
  uint64_t left = 1;
  while (left > 0 && i < m->n_elements) {
    left += m->elements[i].is_group ? m->elements[i].n_children : 0;
    left--;
    i++;
  }
  return i;
}

// U+212A KELVIN SIGN is the one character outside ASCII whose lower case is in it.
static int lower(const char **p) {
  const unsigned char *s = (const unsigned char *)*p;
  if (s[0] == 0xe2 && s[1] == 0x84 && s[2] == 0xaa) {
    *p += 3;
    return 'k';
  }
  (*p)++;
  return *s >= 'A' && *s <= 'Z' ? *s + 32 : *s;
}

static bool equal_ignoring_case(const char *a, const char *b) {
  while (*a && *b)
    if (lower(&a) != lower(&b)) return false;
  return !*a && !*b;
}

// Scripts with upper and lower case, coarsely; everything else has one form.
bool hly_pq_schema_needs_unicode(const char *name) {
  static const struct {
    uint32_t from, to;
  } cased[] = {{0x80, 0x24f},    {0x370, 0x58f},   {0x10a0, 0x10ff}, {0x13a0, 0x13ff},
               {0x1c80, 0x1fff}, {0x2100, 0x218f}, {0x24b6, 0x24e9}, {0x2c00, 0x2d2f},
               {0xa640, 0xa7ff}, {0xab30, 0xabbf}, {0xff21, 0xff5a}, {0x10400, 0x1ffff}};
  for (const unsigned char *p = (const unsigned char *)name; *p;) {
    uint32_t c = *p++;
    if (c < 0x80) continue;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    c &= 0x3f >> more;
    for (; more > 0 && (*p & 0xc0) == 0x80; more--) c = c << 6 | (*p++ & 0x3f);
    if (more) return true;
    for (size_t i = 0; i < sizeof cased / sizeof *cased; i++)
      if (c >= cased[i].from && c <= cased[i].to) return true;
  }
  return false;
}

typedef struct matches {
  const hly_pq_element *first, *last;
  uint32_t n;
  char names[256]; // "[a, A]"
} matches;

static void add_match(matches *m, const hly_pq_element *e) {
  if (!m->first) m->first = e;
  m->last = e;
  size_t used = strlen(m->names);
  snprintf(m->names + used, sizeof m->names - used, "%s%s", m->n ? ", " : "", e->name);
  m->n++;
}

static bool any_field_ids(const hly_pq_metadata *m) {
  for (uint32_t i = 0; i < m->n_elements; i++)
    if (m->elements[i].has_field_id) return true;
  return false;
}

static hly_status match_one(hly_file *f, const hly_pq_metadata *m, const hly_field *field, bool by_id,
                            bool case_sensitive, const hly_pq_element **out) {
  matches found = {0};
  for (uint32_t i = 1; i < m->n_elements; i = hly_pq_schema_next(m, i)) {
    const hly_pq_element *e = &m->elements[i];
    if (by_id            ? e->has_field_id && e->field_id == field->field_id - 1
        : case_sensitive ? strcmp(e->name, field->name) == 0
                         : equal_ignoring_case(e->name, field->name))
      add_match(&found, e);
  }
  // Two columns of exactly one name: Spark's map keeps the last.
  *out = by_id || !case_sensitive ? found.first : found.last;
  if (found.n <= 1 || (!by_id && case_sensitive)) return HLY_OK;
  char names[sizeof found.names + 2], id[16], message[512];
  snprintf(names, sizeof names, "[%s]", found.names);
  snprintf(id, sizeof id, "%d", field->field_id - 1);
  const char *wanted = by_id ? id : field->name;
  snprintf(message, sizeof message, "Found duplicate field(s) \"%s\": %s in %s mode.", wanted, names,
           by_id ? "id mapping" : "case-insensitive");
  // Spark has a condition of its own for each, below that of the file; the names are those of its parameters.
  return hly_error_set(&f->ctx->error, HLY_E_FILE_READ, 4, "path", f->uri, "message", message,
                       by_id ? "requiredId" : "requiredFieldName", wanted,
                       by_id ? "matchedFields" : "matchedOrcFields", names);
}

hly_status hly_pq_schema_match(hly_file *f, const hly_pq_metadata *m, const hly_pq_request *request,
                               const hly_pq_element **out) {
  bool wants_ids = false;
  for (uint32_t i = 0; i < request->n_fields; i++) wants_ids |= request->fields[i].field_id > 0;
  if (wants_ids && !request->ignore_missing_field_ids && !any_field_ids(m))
    return hly_file_fail(
        f, "Spark read schema expects field Ids, but Parquet file schema doesn't contain any field "
           "Ids. Please remove the field ids from Spark schema or ignore missing ids by setting "
           "`spark.sql.parquet.fieldId.read.ignoreMissing = true`");
  for (uint32_t i = 0; i < request->n_fields; i++) {
    const hly_field *field = &request->fields[i];
    bool by_id = request->use_field_ids && field->field_id > 0;
    HLY_TRY(match_one(f, m, field, by_id, request->case_sensitive, &out[i]));
    if (!out[i] && !field->nullable)
      return hly_file_fail(f, "Required column is missing in data file. Col: [%s]", field->name);
    if (out[i] && (out[i]->is_group || out[i]->repetition == HLY_PQ_REPEATED))
      return hly_file_fail(f, "column %s is a group or repeated in the file, not a plain column",
                           field->name);
  }
  return HLY_OK;
}
