#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/result.h"
#include "rushlight/core/span.h"

namespace rushlight::openvino {

// A view of a payload: a model that OpenVINO exported, or our format (see rushlight/backends/openvino/payload.py).
struct Payload {
  bool is_exported = false;
  Span<const uint8_t> xml;  // the whole payload if it is an exported model
  Span<const uint8_t> weights;
};

Result<Payload> read_payload(Span<const uint8_t> bytes);

}  // namespace rushlight::openvino
