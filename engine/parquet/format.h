// Parquet's metadata as the reader keeps it: enums with the values of the format, structs in the arena of the
// file. Field meanings are those of parquet.thrift.
#ifndef HLY_PARQUET_FORMAT_H
#define HLY_PARQUET_FORMAT_H

#include "parquet/thrift.h"

typedef enum hly_pq_type {
  HLY_PQ_BOOLEAN = 0,
  HLY_PQ_INT32 = 1,
  HLY_PQ_INT64 = 2,
  HLY_PQ_INT96 = 3,
  HLY_PQ_FLOAT = 4,
  HLY_PQ_DOUBLE = 5,
  HLY_PQ_BYTE_ARRAY = 6,
  HLY_PQ_FIXED_LEN_BYTE_ARRAY = 7,
  HLY_PQ_N_TYPES
} hly_pq_type;

typedef enum hly_pq_repetition {
  HLY_PQ_REQUIRED = 0,
  HLY_PQ_OPTIONAL = 1,
  HLY_PQ_REPEATED = 2
} hly_pq_repetition;

typedef enum hly_pq_encoding {
  HLY_PQ_PLAIN = 0,
  HLY_PQ_PLAIN_DICTIONARY = 2,
  HLY_PQ_RLE = 3,
  HLY_PQ_BIT_PACKED = 4,
  HLY_PQ_DELTA_BINARY_PACKED = 5,
  HLY_PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
  HLY_PQ_DELTA_BYTE_ARRAY = 7,
  HLY_PQ_RLE_DICTIONARY = 8,
  HLY_PQ_BYTE_STREAM_SPLIT = 9,
} hly_pq_encoding;

typedef enum hly_pq_codec {
  HLY_PQ_UNCOMPRESSED = 0,
  HLY_PQ_SNAPPY = 1,
  HLY_PQ_GZIP = 2,
  HLY_PQ_LZO = 3,
  HLY_PQ_BROTLI = 4,
  HLY_PQ_LZ4 = 5, // Hadoop's framing
  HLY_PQ_ZSTD = 6,
  HLY_PQ_LZ4_RAW = 7,
} hly_pq_codec;

typedef enum hly_pq_page_type {
  HLY_PQ_DATA_PAGE = 0,
  HLY_PQ_INDEX_PAGE = 1,
  HLY_PQ_DICTIONARY_PAGE = 2,
  HLY_PQ_DATA_PAGE_V2 = 3,
} hly_pq_page_type;

// Logical annotations, from LogicalType or, where a file has only those, from ConvertedType.
typedef enum hly_pq_logical {
  HLY_PQ_NO_ANNOTATION = 0,
  HLY_PQ_STRING,
  HLY_PQ_ENUM,
  HLY_PQ_JSON,
  HLY_PQ_BSON,
  HLY_PQ_DECIMAL,
  HLY_PQ_DATE,
  HLY_PQ_TIME,
  HLY_PQ_TIMESTAMP,
  HLY_PQ_INTEGER,
  HLY_PQ_UNKNOWN, // always null
  HLY_PQ_INTERVAL,
  HLY_PQ_UUID,
  HLY_PQ_FLOAT16,
  HLY_PQ_OTHER_ANNOTATION, // of groups, and those this reader does not know
} hly_pq_logical;

typedef enum hly_pq_unit { HLY_PQ_MILLIS = 1, HLY_PQ_MICROS = 2, HLY_PQ_NANOS = 3 } hly_pq_unit;

typedef struct hly_pq_annotation {
  hly_pq_logical kind;
  int32_t precision, scale; // decimal
  hly_pq_unit unit;         // time, timestamp
  bool utc;
  uint8_t bit_width; // integer
  bool is_signed;
} hly_pq_annotation;

typedef struct hly_pq_element {
  const char *name; // NUL-terminated
  uint32_t name_bytes;
  hly_pq_repetition repetition;
  bool is_group;
  hly_pq_type type;
  int32_t type_length;
  uint32_t n_children;
  int32_t field_id;
  bool has_field_id;
  hly_pq_annotation annotation;
  // Filled when the tree is walked.
  int32_t leaf; // index of the column chunk in a row group; -1 for groups
  uint8_t max_def, max_rep;
} hly_pq_element;

// Bounds are PLAIN values; data NULL when absent.
typedef struct hly_pq_statistics {
  hly_bytes min_value, max_value;
  hly_bytes old_min, old_max; // deprecated fields, compared as signed
  int64_t null_count;         // -1: not known
  bool min_exact, max_exact;
} hly_pq_statistics;

typedef struct hly_pq_chunk {
  hly_pq_type type;
  hly_pq_codec codec;
  int64_t n_values;
  int64_t uncompressed_size, compressed_size; // with page headers
  int64_t data_offset, dictionary_offset;     // dictionary 0: none
  hly_pq_statistics statistics;
  uint32_t encodings; // bit e: encoding e is listed
  bool has_metadata, encrypted;
  bool external; // in another file
} hly_pq_chunk;

typedef struct hly_pq_row_group {
  int64_t n_rows;
  int64_t first_row;             // number of rows before it in the file
  int64_t total_compressed_size; // -1: not given
  int64_t total_byte_size;
  int64_t file_offset;  // -1: not given
  hly_pq_chunk *chunks; // one a leaf
} hly_pq_row_group;

typedef struct hly_pq_key_value {
  const char *key, *value;
} hly_pq_key_value;

typedef struct hly_pq_metadata {
  int32_t version;
  int64_t n_rows;
  const char *created_by;   // "" when absent
  hly_pq_element *elements; // depth first; the first is the root
  uint32_t n_elements;
  uint32_t *leaves; // element of each leaf
  uint32_t n_leaves;
  hly_pq_row_group *row_groups;
  uint32_t n_row_groups;
  hly_pq_key_value *key_values;
  uint32_t n_key_values;
  // Column orders of the leaves: 1 type-defined, 0 something else; NULL: the file does not say.
  uint8_t *orders;
} hly_pq_metadata;

const char *hly_pq_type_name(hly_pq_type type);          // "INT32"; "BINARY" as parquet-mr calls byte arrays
const char *hly_pq_encoding_name(int32_t encoding);      // "PLAIN"
const char *hly_pq_codec_name(int32_t codec);            // "SNAPPY"
const char *hly_pq_logical_name(hly_pq_logical logical); // "STRING"; "" for none

#endif
