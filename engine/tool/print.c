#include "tool/print.h"

#include <inttypes.h>

#include "vector/decimal.h"
#include "vector/vector.h"

static void print_bytes(FILE *out, const hly_str *s, bool text) {
  const uint8_t *data = hly_str_data(s);
  for (uint32_t i = 0; i < s->len; i++) {
    if (!text)
      fprintf(out, "%02x", data[i]);
    else if (data[i] < 0x20 || data[i] == '\\' || data[i] == 0x7f)
      fprintf(out, "\\x%02x", data[i]);
    else
      putc(data[i], out);
  }
}

static void print_value(FILE *out, const hly_export_column *c, const Halley__DataType *type, uint64_t row);

static const Halley__DataType *field_type(const Halley__DataType *type, size_t i) {
  return i < type->n_fields ? type->fields[i]->type : NULL;
}

static void print_nested(FILE *out, const hly_export_column *c, const Halley__DataType *type, uint64_t row) {
  const hly_export_column *children = (const hly_export_column *)(uintptr_t)c->children;
  if (c->kind == HLY_STRUCT) {
    putc('{', out);
    for (int32_t i = 0; i < c->n_children; i++) {
      if (i) fputs(", ", out);
      print_value(out, &children[i], field_type(type, (size_t)i), row);
    }
    putc('}', out);
    return;
  }
  hly_span span = ((const hly_span *)(uintptr_t)c->values)[row];
  fputs(c->kind == HLY_MAP ? "{" : "[", out);
  for (int32_t k = 0; k < span.length; k++) {
    if (k) fputs(", ", out);
    print_value(out, &children[0], field_type(type, 0), (uint64_t)(span.offset + k));
    if (c->kind != HLY_MAP) continue;
    fputs(" -> ", out);
    print_value(out, &children[1], field_type(type, 1), (uint64_t)(span.offset + k));
  }
  fputs(c->kind == HLY_MAP ? "}" : "]", out);
}

static void print_value(FILE *out, const hly_export_column *c, const Halley__DataType *type, uint64_t row) {
  const uint64_t *validity = (const uint64_t *)(uintptr_t)c->validity;
  if (c->kind == HLY_NULL || (validity && !hly_bits_get(validity, row))) {
    fputs("NULL", out);
    return;
  }
  const void *values = (const void *)(uintptr_t)c->values;
  int precision = type ? type->precision : 0, scale = type ? type->scale : 0;
  switch (c->kind) {
  case HLY_BOOLEAN: fputs(((const uint8_t *)values)[row] ? "true" : "false", out); break;
  case HLY_BYTE: fprintf(out, "%d", ((const int8_t *)values)[row]); break;
  case HLY_SHORT: fprintf(out, "%d", ((const int16_t *)values)[row]); break;
  case HLY_INT:
  case HLY_DATE:
  case HLY_YEAR_MONTH_INTERVAL: fprintf(out, "%" PRId32, ((const int32_t *)values)[row]); break;
  case HLY_LONG:
  case HLY_TIMESTAMP:
  case HLY_TIMESTAMP_NTZ:
  case HLY_TIME:
  case HLY_DAY_TIME_INTERVAL: fprintf(out, "%" PRId64, ((const int64_t *)values)[row]); break;
  case HLY_FLOAT: fprintf(out, "%.9g", (double)((const float *)values)[row]); break;
  case HLY_DOUBLE: fprintf(out, "%.17g", ((const double *)values)[row]); break;
  case HLY_DECIMAL: {
    char text[64];
    hly_i128 unscaled =
        precision <= 18 ? (hly_i128)((const int64_t *)values)[row] : ((const hly_i128 *)values)[row];
    int n = hly_decimal_print(unscaled, scale, text);
    fwrite(text, 1, (size_t)n, out);
    break;
  }
  case HLY_CALENDAR_INTERVAL: {
    hly_interval v = ((const hly_interval *)values)[row];
    fprintf(out, "%d months %d days %" PRId64 " us", v.months, v.days, v.micros);
    break;
  }
  case HLY_STRING: print_bytes(out, &((const hly_str *)values)[row], true); break;
  case HLY_BINARY: print_bytes(out, &((const hly_str *)values)[row], false); break;
  case HLY_VARIANT: print_bytes(out, &((const hly_str *)values)[2 * row], false); break;
  case HLY_ARRAY:
  case HLY_MAP:
  case HLY_STRUCT:
    print_nested(out, c, type ? type : &(const Halley__DataType)HALLEY__DATA_TYPE__INIT, row);
    break;
  default: fputs("?", out);
  }
}

void tool_print_batch(FILE *out, const hly_export_batch *batch, Halley__Field *const *fields,
                      size_t n_fields) {
  const hly_export_column *columns = (const hly_export_column *)(uintptr_t)batch->columns;
  for (uint64_t row = 0; row < batch->n_rows; row++) {
    for (uint64_t i = 0; i < batch->n_columns; i++) {
      if (i) putc('\t', out);
      print_value(out, &columns[i], i < n_fields ? fields[i]->type : NULL, row);
    }
    putc('\n', out);
  }
}
