// StartsWith, EndsWith, Contains and Like. All work on bytes: a valid UTF-8 text occurs in a string exactly
// where its bytes do, because first and following bytes of characters are told apart.
#include <string.h>

#include "functions/functions.h"
#include "functions/string_find.h"
#include "functions/utf8.h"
#include "vector/str.h"

hly_find_fn hly_find(void) {
  static const hly_find_fn find[HLY_N_CPU] = {hly_find_baseline, hly_find_v3, hly_find_v4};
  return find[hly_cpu_level()];
}

// ---- fixed needles

static bool starts_with(const hly_str *s, const hly_str *needle) {
  return s->len >= needle->len && memcmp(hly_str_data(s), hly_str_data(needle), needle->len) == 0;
}

static bool ends_with(const hly_str *s, const hly_str *needle) {
  return s->len >= needle->len &&
         memcmp(hly_str_data(s) + s->len - needle->len, hly_str_data(needle), needle->len) == 0;
}

#define KERNEL(name)                                                                                         \
  static hly_status name##_kernel(hly_call *call) {                                                          \
    const hly_str *s = call->args[0].data, *needle = call->args[1].data;                                     \
    const size_t s_stride = call->args[0].stride, n_stride = call->args[1].stride;                           \
    uint8_t *out = call->out;                                                                                \
    HLY_FOR_ROWS(call->rows, i,                                                                              \
                 out[i] = hly_call_wants(call, i) && name(&s[i * s_stride], &needle[i * n_stride]););        \
    return HLY_OK;                                                                                           \
  }
#define PREDICATE(name)                                                                                      \
  KERNEL(name)                                                                                               \
  hly_status hly_bind_##name(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {                      \
    out->fn = name##_kernel;                                                                                 \
    return HLY_OK;                                                                                           \
  }
KERNEL(starts_with)

// A constant needle: a view's length and first four bytes decide for almost every row, without a branch and
// without following its pointer.
static hly_status starts_with_constant(hly_call *call) {
  const hly_str *s = call->args[0].data, needle = *(const hly_str *)call->args[1].data;
  const size_t stride = call->args[0].stride;
  uint8_t *out = call->out;
  uint32_t mask, want;
  const uint8_t ones[4] = {needle.len > 0 ? 0xff : 0, needle.len > 1 ? 0xff : 0, needle.len > 2 ? 0xff : 0,
                           needle.len > 3 ? 0xff : 0};
  memcpy(&mask, ones, 4);
  memcpy(&want, needle.u.inl, 4);
  want &= mask;
  HLY_FOR_ROWS(call->rows, i, {
    uint32_t first;
    memcpy(&first, s[i * stride].u.inl, 4);
    out[i] = (s[i * stride].len >= needle.len) & ((first & mask) == want);
  });
  if (needle.len <= 4) return HLY_OK;
  HLY_FOR_ROWS(call->rows, i, {
    if (out[i]) out[i] = hly_call_wants(call, i) && starts_with(&s[i * stride], &needle);
  });
  return HLY_OK;
}

hly_status hly_bind_starts_with(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = call->literals[1] ? starts_with_constant : starts_with_kernel;
  return HLY_OK;
}

PREDICATE(ends_with)

static hly_status contains_kernel(hly_call *call) {
  const hly_str *s = call->args[0].data, *needle = call->args[1].data;
  const size_t s_stride = call->args[0].stride, n_stride = call->args[1].stride;
  const hly_find_fn find = hly_find();
  uint8_t *out = call->out;
  HLY_FOR_ROWS(call->rows, i, {
    const hly_str *v = &s[i * s_stride];
    const hly_str *x = &needle[i * n_stride];
    out[i] = hly_call_wants(call, i) && find(hly_str_data(v), v->len, hly_str_data(x), x->len);
  });
  return HLY_OK;
}

hly_status hly_bind_contains(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = contains_kernel;
  return HLY_OK;
}

// ---- Like

// A pattern is pieces between percent signs. A piece is literal bytes, with HOLES where an underscore takes
// any one character.
typedef struct piece {
  const uint8_t *bytes; // underscores are marked in `hole`
  const uint8_t *hole;  // NULL: none in this piece
  uint32_t n;
} piece;

typedef struct like_state {
  piece *pieces; // none is empty, but the first and the last may be
  uint32_t n_pieces;
  bool holes;
  hly_find_fn find;
} like_state;

// Where the piece ends when it matches at `at`, else NULL. Only on valid UTF-8 when it has holes.
static inline const uint8_t *match_at(const piece *p, const uint8_t *at, const uint8_t *end) {
  if (!p->hole) {
    if ((size_t)(end - at) < p->n || memcmp(at, p->bytes, p->n) != 0) return NULL;
    return at + p->n;
  }
  for (uint32_t k = 0; k < p->n; k++) {
    if (at >= end) return NULL;
    if (p->hole[k])
      at += hly_utf8_length(*at);
    else if (*at++ != p->bytes[k])
      return NULL;
  }
  return at;
}

// The leftmost match at or after `at`: taking it leaves the most for the pieces that follow.
static const uint8_t *find_piece(hly_find_fn find, const piece *p, const uint8_t *at, const uint8_t *end) {
  if (!p->hole) {
    const uint8_t *found = find(at, (size_t)(end - at), p->bytes, p->n);
    return found ? found + p->n : NULL;
  }
  for (; at < end; at += hly_utf8_length(*at)) {
    const uint8_t *after = match_at(p, at, end);
    if (after) return after;
  }
  return NULL;
}

// Whether the last piece matches so that it ends at `end`, not before `at`.
static bool match_end(const piece *p, const uint8_t *at, const uint8_t *end) {
  if (!p->hole) return (size_t)(end - at) >= p->n && memcmp(end - p->n, p->bytes, p->n) == 0;
  const uint8_t *from = end; // back over as many characters as the piece has
  for (uint32_t k = 0; k < p->n; k++) {
    if (!p->hole[k] && (p->bytes[k] & 0xc0) == 0x80) continue;
    if (from <= at) return false;
    do from--;
    while (from > at && (*from & 0xc0) == 0x80);
  }
  return match_at(p, from, end) == end;
}

static bool like(const like_state *s, const uint8_t *at, uint32_t n) {
  const uint8_t *end = at + n;
  const piece *p = s->pieces;
  if (s->n_pieces == 1) return match_at(p, at, end) == end;
  at = match_at(p, at, end);
  if (!at) return false;
  for (uint32_t k = 1; k + 1 < s->n_pieces; k++) {
    at = find_piece(s->find, &p[k], at, end);
    if (!at) return false;
  }
  return match_end(&p[s->n_pieces - 1], at, end);
}

static hly_status like_kernel(hly_call *call) {
  const like_state *state = call->state;
  const hly_str *s = call->args[0].data;
  const size_t stride = call->args[0].stride;
  uint8_t *out = call->out;
  HLY_FOR_ROWS(call->rows, i, {
    const hly_str *v = &s[i * stride];
    out[i] = hly_call_wants(call, i) && like(state, hly_str_data(v), v->len);
  });
  return HLY_OK;
}

// An underscore counts characters of a Java String. What is not valid UTF-8 becomes replacement characters
// there, by rules of the JDK's decoder: Spark's own code decides those rows.
static hly_status like_holes_kernel(hly_call *call) {
  const like_state *state = call->state;
  const hly_str *s = call->args[0].data;
  const size_t stride = call->args[0].stride;
  uint8_t *out = call->out;
  HLY_FOR_ROWS(call->rows, i, {
    const hly_str *v = &s[i * stride];
    const uint8_t *data = hly_str_data(v);
    out[i] = 0;
    if (hly_call_wants(call, i)) {
      if (hly_utf8_is_ascii(data, v->len) || hly_utf8_is_valid(data, v->len))
        out[i] = like(state, data, v->len);
      else
        hly_decline(call, i);
    }
  });
  return HLY_OK;
}

static hly_status refuse_pattern(hly_binder *b, const char *why) {
  return hly_bind_refuse(b, "Like: %s", why);
}

hly_status hly_bind_like(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  const hly_literal *lit = call->literals[1];
  if (!lit) return refuse_pattern(b, "a pattern that is not constant has no native form");
  out->fn = like_kernel;
  if (lit->is_null) return HLY_OK; // null for every row: the kernel is not called
  const char *escape_text = hly_fn_param_string(call, "escapeChar", "\\");
  if (strlen(escape_text) != 1)
    return refuse_pattern(b, "an escape character that is not ASCII has no native form");
  const uint8_t escape = (uint8_t)escape_text[0];
  hly_str pattern;
  memcpy(&pattern, lit->value.bytes, sizeof pattern);
  const uint8_t *in = hly_str_data(&pattern);
  uint32_t n = pattern.len, n_pieces = 1;
  if (!hly_utf8_is_valid(in, n))
    return refuse_pattern(b, "a pattern that is not valid UTF-8 has no native form");
  // U+FFFD is what invalid bytes of the value become: then bytes do not tell.
  if (hly_find()(in, n, (const uint8_t *)"\xef\xbf\xbd", 3))
    return refuse_pattern(b, "a pattern with U+FFFD has no native form");
  for (uint32_t i = 0; i < n; i++) n_pieces += in[i] == '%';
  like_state *s = HLY_ARENA_NEW(b->arena, like_state);
  piece *pieces = HLY_ARENA_NEW_N(b->arena, piece, n_pieces);
  uint8_t *bytes = HLY_ARENA_NEW_N(b->arena, uint8_t, n + 1u),
          *hole = HLY_ARENA_NEW_N(b->arena, uint8_t, n + 1u);
  if (!s || !pieces || !bytes || !hole) return hly_ctx_nomem(b->ctx, n);
  s->pieces = pieces;
  s->find = hly_find();
  piece *p = pieces;
  p->bytes = bytes;
  uint32_t k = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint8_t c = in[i];
    if (c == escape) {
      // Spark raises for an escape before anything else; it shall do so itself.
      if (i + 1 == n || (in[i + 1] != '_' && in[i + 1] != '%' && in[i + 1] != escape))
        return refuse_pattern(b, "the pattern has an escape that escapes nothing");
      c = in[++i];
    } else if (c == '%') {
      // Empty pieces in the middle match anything: "%%" is "%".
      if (p == pieces || p->n > 0) p++;
      *p = (piece){.bytes = bytes + k};
      continue;
    } else if (c == '_') {
      hole[k] = 1;
      p->hole = hole + (p->bytes - bytes);
      s->holes = true;
    }
    bytes[k++] = c;
    p->n++;
  }
  s->n_pieces = (uint32_t)(p - pieces) + 1;
  out->state = s;
  if (s->holes) {
    out->fn = like_holes_kernel;
    out->flags |= HLY_KERNEL_MAY_DECLINE;
  }
  return HLY_OK;
}
