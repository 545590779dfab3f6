// Decoding of protobuf messages into an arena, within limits that hold for hostile bytes too.
#ifndef HLY_PLAN_MESSAGE_H
#define HLY_PLAN_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"
#include "plan.pb-c.h"

enum {
  HLY_MESSAGE_MAX_DEPTH = 400,               // nested messages
  HLY_MESSAGE_MAX_BYTES = 512 * 1024 * 1024, // a message
};

// Decodes `n` bytes as a message of type `descriptor` into `arena` (never to be freed by protobuf-c).
// HLY_E_PLAN_INVALID when the bytes are no such message, or are nested or sized past the limits.
HLY_MUST_CHECK hly_status hly_message_unpack(hly_error *error, hly_arena *arena,
                                             const ProtobufCMessageDescriptor *descriptor,
                                             const uint8_t *bytes, size_t n, void *out);

#endif
