#include "parquet/format.h"

const char *hly_pq_type_name(hly_pq_type type) {
  static const char *const names[] = {"BOOLEAN", "INT32",  "INT64",  "INT96",
                                      "FLOAT",   "DOUBLE", "BINARY", "FIXED_LEN_BYTE_ARRAY"};
  return (unsigned)type < HLY_PQ_N_TYPES ? names[type] : "unknown";
}

const char *hly_pq_encoding_name(int32_t encoding) {
  static const char *const names[] = {
      "PLAIN",          "GROUP_VAR_INT",       "PLAIN_DICTIONARY",        "RLE",
      "BIT_PACKED",     "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
      "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"};
  return encoding >= 0 && encoding < 10 ? names[encoding] : "unknown";
}

const char *hly_pq_codec_name(int32_t codec) {
  static const char *const names[] = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                      "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
  return codec >= 0 && codec < 8 ? names[codec] : "unknown";
}

const char *hly_pq_logical_name(hly_pq_logical logical) {
  static const char *const names[] = {"",        "STRING",   "ENUM", "JSON",      "BSON",
                                      "DECIMAL", "DATE",     "TIME", "TIMESTAMP", "INTEGER",
                                      "UNKNOWN", "INTERVAL", "UUID", "FLOAT16",   "OTHER"};
  return (unsigned)logical < sizeof names / sizeof *names ? names[logical] : "";
}
