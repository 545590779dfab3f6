#include "parquet/values.h"

static const hly_pq_values_class *find_class(hly_pq_type type, int32_t encoding) {
  bool strings = type == HLY_PQ_BYTE_ARRAY, fixed = type == HLY_PQ_FIXED_LEN_BYTE_ARRAY;
  switch (encoding) {
  case HLY_PQ_PLAIN:
    switch (type) {
    case HLY_PQ_BOOLEAN: return &hly_pq_plain_boolean;
    case HLY_PQ_INT32:
    case HLY_PQ_FLOAT: return &hly_pq_plain_fixed4;
    case HLY_PQ_INT64:
    case HLY_PQ_DOUBLE: return &hly_pq_plain_fixed8;
    case HLY_PQ_BYTE_ARRAY: return &hly_pq_plain_strings;
    default: return &hly_pq_plain_fixed_strings;
    }
  case HLY_PQ_RLE: return type == HLY_PQ_BOOLEAN ? &hly_pq_rle_booleans : NULL;
  case HLY_PQ_DELTA_BINARY_PACKED:
    return type == HLY_PQ_INT32 ? &hly_pq_delta_int32 : type == HLY_PQ_INT64 ? &hly_pq_delta_int64 : NULL;
  case HLY_PQ_DELTA_LENGTH_BYTE_ARRAY: return strings ? &hly_pq_delta_length_strings : NULL;
  case HLY_PQ_DELTA_BYTE_ARRAY: return strings || fixed ? &hly_pq_delta_strings : NULL;
  case HLY_PQ_BYTE_STREAM_SPLIT:
    return fixed || type == HLY_PQ_INT32 || type == HLY_PQ_INT64 || type == HLY_PQ_FLOAT ||
                   type == HLY_PQ_DOUBLE
               ? &hly_pq_split
               : NULL;
  default: return NULL;
  }
}

hly_status hly_pq_values_init(hly_pq_values *v, int32_t encoding) {
  v->cls = find_class(v->type, encoding);
  if (!v->cls)
    return hly_file_fail(v->file, "column %s: encoding %s of %s values is not supported", v->column,
                         hly_pq_encoding_name(encoding), hly_pq_type_name(v->type));
  return v->cls->init(v);
}

void hly_pq_values_deinit(hly_pq_values *v) {
  hly_buf_unref(v->own_heap);
  hly_buf_unref(v->scratch);
  hly_buf_unref(v->last_buf);
  v->own_heap = v->scratch = v->last_buf = NULL;
}

hly_status hly_pq_values_fail(const hly_pq_values *v, const char *what) {
  return hly_file_fail(v->file, "corrupt page of column %s: %s", v->column, what);
}
