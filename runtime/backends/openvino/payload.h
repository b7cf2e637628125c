#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/result.h"
#include "rushlight/core/span.h"

namespace rushlight::openvino {

// A payload, in place. Without our header (see rushlight/backends/openvino/payload.py) it is what OpenVINO exported.
struct Payload {
  bool is_exported = false;
  Span<const uint8_t> xml;  // or all of it, if it is exported
  Span<const uint8_t> weights;
};

Result<Payload> read_payload(Span<const uint8_t> bytes);

}  // namespace rushlight::openvino
