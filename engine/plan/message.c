#include "plan/message.h"

#include <string.h>

typedef struct arena_source {
  hly_arena *arena;
  size_t failed; // bytes of the request that could not be met
} arena_source;

static void *arena_alloc(void *data, size_t n_bytes) {
  arena_source *source = data;
  void *p = hly_arena_alloc(source->arena, n_bytes);
  if (!p) source->failed = n_bytes ? n_bytes : 1;
  return p;
}

static void arena_free(void *data, void *p) {
  (void)data;
  (void)p;
}

// Reads a base-128 number; returns bytes used, 0 when it is cut off or too long.
static size_t read_varint(const uint8_t *bytes, size_t n, uint64_t *out) {
  uint64_t value = 0;
  for (size_t i = 0; i < n && i < 10; i++) {
    value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
    if (!(bytes[i] & 0x80)) {
      *out = value;
      return i + 1;
    }
  }
  return 0;
}

// protobuf-c's decoder recurses without a limit, so the nesting is measured first, by the same descriptors.
// Bytes that are not well formed are left for the decoder to refuse.
static bool depth_within(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t n,
                         int depth_left) {
  if (depth_left == 0) return false;
  size_t at = 0;
  while (at < n) {
    uint64_t tag, length;
    size_t used = read_varint(bytes + at, n - at, &tag);
    if (!used) return true;
    at += used;
    switch (tag & 7) {
    case 0:
      used = read_varint(bytes + at, n - at, &length);
      if (!used) return true;
      at += used;
      break;
    case 1: at += 8; break;
    case 5: at += 4; break;
    case 2: {
      used = read_varint(bytes + at, n - at, &length);
      if (!used || length > n - at - used) return true;
      at += used;
      const ProtobufCFieldDescriptor *field =
          protobuf_c_message_descriptor_get_field(descriptor, (unsigned)(tag >> 3));
      if (field && field->type == PROTOBUF_C_TYPE_MESSAGE &&
          !depth_within(field->descriptor, bytes + at, length, depth_left - 1))
        return false;
      at += length;
      break;
    }
    default: return true;
    }
  }
  return true;
}

hly_status hly_message_unpack(hly_error *error, hly_arena *arena,
                              const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t n,
                              void *out) {
  *(void **)out = NULL;
  if (n > HLY_MESSAGE_MAX_BYTES)
    return hly_error_setf(error, HLY_E_PLAN_INVALID, "a %s of %zu bytes is too large", descriptor->short_name,
                          n);
  if (!depth_within(descriptor, bytes, n, HLY_MESSAGE_MAX_DEPTH))
    return hly_error_setf(error, HLY_E_PLAN_INVALID, "the %s is nested too deeply", descriptor->short_name);
  arena_source source = {.arena = arena};
  ProtobufCAllocator allocator = {.alloc = arena_alloc, .free = arena_free, .allocator_data = &source};
  ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &allocator, n, bytes);
  if (!message) {
    if (source.failed) return hly_error_nomem(error, (int64_t)source.failed);
    return hly_error_setf(error, HLY_E_PLAN_INVALID, "%zu bytes are not a %s", n, descriptor->short_name);
  }
  *(void **)out = message;
  return HLY_OK;
}
