#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/result.h"
#include "rushlight/core/span.h"

namespace rushlight::openvino {

// A view of a payload. A payload is either a model that OpenVINO exported, or has Rushlight's own format, which
// rushlight/backends/openvino/payload.py describes.
struct Payload {
  bool is_exported = false;
  Span<const uint8_t> xml;  // the whole payload if OpenVINO exported it
  Span<const uint8_t> weights;
};

Result<Payload> read_payload(Span<const uint8_t> bytes);

}  // namespace rushlight::openvino
