#include "parquet/page.h"

#include <string.h>

// Windows: small enough to stay in a core's cache between reading and decompressing, large for files whose
// reads have a price of their own.
enum { LOCAL_WINDOW = 256 << 10, HOST_WINDOW = 8 << 20, FIRST_HEADER = 8 << 10, LARGEST_HEADER = 16 << 20 };

void hly_pq_pages_init(hly_pq_pages *p, hly_file *file, const char *column, const hly_pq_chunk *chunk,
                       hly_pq_codec_state *codecs, hly_buf *preloaded, int64_t preloaded_start) {
  p->file = file;
  p->column = column;
  p->codec = chunk->codec;
  p->position = hly_pq_chunk_start(chunk);
  p->end = p->position + chunk->compressed_size;
  p->codecs = codecs;
  p->window_size = file->local ? LOCAL_WINDOW : HOST_WINDOW;
  p->window_start = p->window_bytes = 0;
  if (p->window_borrowed || preloaded) {
    hly_buf_unref(p->window);
    p->window = NULL;
  }
  p->window_borrowed = preloaded != NULL;
  if (preloaded) {
    p->window = hly_buf_ref(preloaded);
    p->window_start = preloaded_start;
    p->window_bytes = p->end - preloaded_start;
  }
}

void hly_pq_pages_deinit(hly_pq_pages *p) {
  hly_buf_unref(p->window);
  hly_buf_unref(p->body);
  p->window = p->body = NULL;
}

// Makes the next n bytes of the chunk contiguous in memory. They are readable for 64 bytes past their end.
static hly_status peek(hly_pq_pages *p, int64_t n, const uint8_t **out) {
  int64_t offset = p->position - p->window_start;
  if (offset >= 0 && offset + n <= p->window_bytes) {
    *out = p->window->data + offset;
    return HLY_OK;
  }
  int64_t left = p->end - p->position, want = n > p->window_size ? n : p->window_size;
  if (want > left) want = left;
  // What is there already moves to the front. A window that a page's views point to is left alone (and a new
  // one made), which hly_buf_reuse does by itself; then everything is read again.
  int64_t kept = 0;
  if (p->window && p->window->refs == 1 && !p->window_borrowed && offset >= 0 && offset < p->window_bytes &&
      (int64_t)p->window->capacity >= want) {
    kept = p->window_bytes - offset;
    memmove(p->window->data, p->window->data + offset, (size_t)kept);
  } else {
    if (p->window_borrowed) {
      hly_buf_unref(p->window);
      p->window = NULL;
      p->window_borrowed = false;
    }
    int64_t room = want > p->window_size ? want : p->window_size < left ? p->window_size : left;
    if (p->window ? hly_buf_reuse(&p->window, (size_t)room) != 0
                  : !(p->window = hly_buf_create((size_t)room)))
      return hly_ctx_nomem(p->file->ctx, room);
  }
  p->window_start = p->position;
  p->window_bytes = 0;
  HLY_TRY(hly_file_read(p->file, p->position + kept, p->window->data + kept, want - kept));
  p->window_bytes = want;
  *out = p->window->data;
  return HLY_OK;
}

static void read_data_header(hly_thrift *t, hly_pq_page_header *h, bool v2) {
  int32_t last = 0;
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    if (f.id == 1)
      h->n_values = hly_thrift_i32(t, f.type);
    else if (!v2 && f.id == 2)
      h->encoding = hly_thrift_i32(t, f.type);
    else if (!v2 && f.id == 3)
      h->def_encoding = hly_thrift_i32(t, f.type);
    else if (!v2 && f.id == 4)
      h->rep_encoding = hly_thrift_i32(t, f.type);
    else if (v2 && f.id == 2)
      h->n_nulls = hly_thrift_i32(t, f.type);
    else if (v2 && f.id == 3)
      h->n_rows = hly_thrift_i32(t, f.type);
    else if (v2 && f.id == 4)
      h->encoding = hly_thrift_i32(t, f.type);
    else if (v2 && f.id == 5)
      h->def_bytes = hly_thrift_i32(t, f.type);
    else if (v2 && f.id == 6)
      h->rep_bytes = hly_thrift_i32(t, f.type);
    else if (v2 && f.id == 7)
      h->compressed = hly_thrift_bool(t, f.type);
    else
      hly_thrift_skip(t, f.type);
  }
}

static void read_dictionary_header(hly_thrift *t, hly_pq_page_header *h) {
  int32_t last = 0;
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    if (f.id == 1)
      h->n_values = hly_thrift_i32(t, f.type);
    else if (f.id == 2)
      h->encoding = hly_thrift_i32(t, f.type);
    else
      hly_thrift_skip(t, f.type);
  }
}

static void read_header(hly_thrift *t, hly_pq_page_header *h) {
  const uint8_t *start = t->p;
  int32_t last = 0, type = -1;
  memset(h, 0, sizeof *h);
  h->compressed = true;
  h->compressed_size = h->uncompressed_size = h->n_values = -1;
  hly_thrift_enter(t);
  for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;) {
    bool is_struct = f.type == HLY_THRIFT_STRUCT;
    if (f.id == 1)
      type = hly_thrift_i32(t, f.type);
    else if (f.id == 2)
      h->uncompressed_size = hly_thrift_i32(t, f.type);
    else if (f.id == 3)
      h->compressed_size = hly_thrift_i32(t, f.type);
    else if (f.id == 5 && is_struct)
      read_data_header(t, h, false);
    else if (f.id == 7 && is_struct)
      read_dictionary_header(t, h);
    else if (f.id == 8 && is_struct)
      read_data_header(t, h, true);
    else
      hly_thrift_skip(t, f.type);
  }
  h->type = (hly_pq_page_type)type;
  h->header_bytes = (uint32_t)(t->p - start);
}

hly_status hly_pq_pages_next(hly_pq_pages *p, hly_pq_page_header *header, bool *more) {
  int64_t left = p->end - p->position;
  *more = left > 0;
  if (left <= 0) return HLY_OK;
  // A header's length is known only once it is parsed.
  for (int64_t n = left < FIRST_HEADER ? left : FIRST_HEADER;;) {
    const uint8_t *bytes;
    hly_thrift t;
    HLY_TRY(peek(p, n, &bytes));
    hly_thrift_init(&t, bytes, (size_t)n);
    read_header(&t, header);
    if (!t.failed) break;
    if (n == left || n >= LARGEST_HEADER)
      return hly_file_fail(p->file, "corrupt page header of column %s: %s", p->column, t.failed);
    n = n * 8 < left ? n * 8 : left;
  }
  p->position += header->header_bytes;
  left -= header->header_bytes;
  if (header->compressed_size < 0 || header->uncompressed_size < 0 || header->compressed_size > left)
    return hly_file_fail(p->file,
                         "corrupt page header of column %s: %d bytes (%d uncompressed) of %lld that are left",
                         p->column, header->compressed_size, header->uncompressed_size, (long long)left);
  bool known = header->type == HLY_PQ_DATA_PAGE || header->type == HLY_PQ_DICTIONARY_PAGE ||
               header->type == HLY_PQ_DATA_PAGE_V2;
  if (known && header->n_values < 0)
    return hly_file_fail(p->file, "corrupt page header of column %s: no number of values", p->column);
  if (header->type == HLY_PQ_DATA_PAGE_V2 &&
      (header->def_bytes < 0 || header->rep_bytes < 0 ||
       (int64_t)header->def_bytes + header->rep_bytes > header->compressed_size ||
       (int64_t)header->def_bytes + header->rep_bytes > header->uncompressed_size))
    return hly_file_fail(p->file,
                         "corrupt page header of column %s: levels of %d and %d bytes in a page of %d",
                         p->column, header->rep_bytes, header->def_bytes, header->compressed_size);
  return HLY_OK;
}

void hly_pq_pages_skip(hly_pq_pages *p, const hly_pq_page_header *header) {
  p->position += header->compressed_size;
}

// The most that n bytes can decompress to: a page that claims more is damaged, and nothing is allocated for
// it.
static int64_t most_uncompressed(hly_pq_codec codec, int64_t n) {
  switch (codec) {
  case HLY_PQ_UNCOMPRESSED: return n;
  case HLY_PQ_SNAPPY: return n * 32;
  case HLY_PQ_LZ4:
  case HLY_PQ_LZ4_RAW: return n * 256 + 64;
  case HLY_PQ_GZIP: return n * 1040 + 64;
  default: return n * (64 << 10);
  }
}

hly_status hly_pq_pages_body(hly_pq_pages *p, const hly_pq_page_header *h, hly_pq_page_body *body) {
  const uint8_t *bytes;
  HLY_TRY(peek(p, h->compressed_size, &bytes));
  p->position += h->compressed_size;
  bool v2 = h->type == HLY_PQ_DATA_PAGE_V2;
  int32_t n_levels = v2 ? h->def_bytes + h->rep_bytes : 0;
  int32_t n_in = h->compressed_size - n_levels, n_out = h->uncompressed_size - n_levels;
  bool plain = p->codec == HLY_PQ_UNCOMPRESSED || (v2 && !h->compressed);
  body->levels = v2 ? bytes : NULL;
  if (plain || (n_out == 0 && n_in == 0)) {
    if (plain && n_in != n_out)
      return hly_file_fail(p->file,
                           "corrupt page header of column %s: %d bytes, %d uncompressed, without a codec",
                           p->column, h->compressed_size, h->uncompressed_size);
    body->values = bytes + n_levels;
    body->n_values_bytes = (uint32_t)n_in;
    body->owner = p->window;
    return HLY_OK;
  }
  if (hly_pq_codec_known(p->codec) && n_out > most_uncompressed(p->codec, n_in))
    return hly_file_fail(p->file, "corrupt page header of column %s: %d bytes cannot decompress (%s) to %d",
                         p->column, n_in, hly_pq_codec_name(p->codec), n_out);
  if (p->body ? hly_buf_reuse(&p->body, (size_t)n_out) != 0 : !(p->body = hly_buf_create((size_t)n_out)))
    return hly_ctx_nomem(p->file->ctx, n_out);
  HLY_TRY(hly_pq_decompress(p->file, p->codecs, p->codec, p->column, bytes + n_levels, (size_t)n_in,
                            p->body->data, (size_t)n_out));
  body->values = p->body->data;
  body->n_values_bytes = (uint32_t)n_out;
  body->owner = p->body;
  return HLY_OK;
}
