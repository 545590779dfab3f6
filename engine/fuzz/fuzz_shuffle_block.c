// Any bytes as the body of a frame whose header is right: the reader refuses them or gives vectors that can
// be walked.
#include <string.h>

#include <xxhash.h>

#include "base/mem.h"
#include "memory/pool.h"
#include "shuffle/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const hly_type INT = {.kind = HLY_INT, .phys = HLY_PHYS_I32};
static const hly_type STRING = {.kind = HLY_STRING, .phys = HLY_PHYS_STR};
static const hly_type WIDE = {.kind = HLY_DECIMAL, .precision = 38, .phys = HLY_PHYS_I128};
static const hly_type BOOLEAN = {.kind = HLY_BOOLEAN, .phys = HLY_PHYS_BOOL};
static const hly_type VARIANT = {.kind = HLY_VARIANT, .phys = HLY_PHYS_VARIANT};
static const hly_type NOTHING = {.kind = HLY_NULL};
static const hly_field PAIR_FIELDS[] = {{.name = "a", .type = &STRING}, {.name = "b", .type = &WIDE}};
static const hly_type PAIR = {.kind = HLY_STRUCT, .n_fields = 2, .fields = PAIR_FIELDS};
static const hly_field ELEMENT[] = {{.name = "element", .type = &PAIR}};
static const hly_type PAIRS = {.kind = HLY_ARRAY, .phys = HLY_PHYS_SPAN, .n_fields = 1, .fields = ELEMENT};
static const hly_field MAP_FIELDS[] = {{.name = "key", .type = &INT}, {.name = "value", .type = &PAIRS}};
static const hly_type MAP = {.kind = HLY_MAP, .phys = HLY_PHYS_SPAN, .n_fields = 2, .fields = MAP_FIELDS};
static const hly_field COLUMNS[] = {
    {.name = "i", .type = &INT},     {.name = "s", .type = &STRING},  {.name = "w", .type = &WIDE},
    {.name = "b", .type = &BOOLEAN}, {.name = "v", .type = &VARIANT}, {.name = "n", .type = &NOTHING},
    {.name = "m", .type = &MAP},     {.name = "p", .type = &PAIR},
};

// First byte: which column the frame has (above them: all). Second: how the body is compressed; with the
// highest bit set the checksum is left wrong. Then rows and length of the body uncompressed, and the body.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { N_COLUMNS = sizeof COLUMNS / sizeof *COLUMNS, PREFIX = 8, MOST_RAW = 1 << 16 };
  if (size < PREFIX) return 0;
  hly_schema schema = data[0] % (N_COLUMNS + 1) < N_COLUMNS
                          ? (hly_schema){1, COLUMNS + data[0] % (N_COLUMNS + 1)}
                          : (hly_schema){N_COLUMNS, COLUMNS};
  hly_host host = {0};
  hly_ctx ctx = {.host = &host, .batch_rows = 8192};
  size_t n_body = size - PREFIX;
  uint8_t *frame = hly_malloc(HLY_FRAME_HEADER + n_body);
  hly_block_reader *reader = NULL;
  if (!frame || hly_block_reader_create(&ctx, &schema, &reader) != HLY_OK) goto out;
  memset(frame, 0, HLY_FRAME_HEADER);
  uint32_t rows = 0, raw = 0, magic = HLY_FRAME_MAGIC, body = (uint32_t)n_body, columns = schema.n_fields;
  memcpy(&rows, data + 2, 3);
  memcpy(&raw, data + 5, 3);
  raw %= MOST_RAW;
  uint8_t codec = data[1] & 0x7f;
  if (codec == HALLEY__CODEC__NONE) raw = body;
  memcpy(frame, &magic, 4);
  memcpy(frame + 4, &body, 4);
  memcpy(frame + 8, &raw, 4);
  memcpy(frame + 12, &rows, 4);
  memcpy(frame + 16, &columns, 4);
  frame[20] = codec;
  frame[21] = HLY_FRAME_VERSION;
  memcpy(frame + HLY_FRAME_HEADER, data + PREFIX, n_body);
  uint64_t check = data[1] & 0x80 ? 7 : XXH64(frame + HLY_FRAME_HEADER, n_body, XXH64(frame, 24, 0));
  memcpy(frame + 24, &check, 8);
  hly_batch *batch;
  if (hly_block_read(reader, frame, HLY_FRAME_HEADER + n_body, &batch) != HLY_OK) goto out;
  // Constants and dictionaries may stand for far more than there are bytes: look at some rows.
  uint32_t n = batch->n_rows < 200 ? batch->n_rows : 200;
  for (uint32_t c = 0; c < batch->n_columns; c++) {
    hly_vector *flat = hly_vector_create(batch->columns[c]->type);
    if (flat && hly_vector_append(&ctx, flat, batch->columns[c], NULL, n) != HLY_OK) __builtin_trap();
    hly_vector_unref(flat);
  }
out:
  hly_block_reader_destroy(reader);
  hly_free(frame);
  return 0;
}
