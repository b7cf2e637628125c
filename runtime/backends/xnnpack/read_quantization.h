#pragma once

#include "backends/xnnpack/graph.h"

namespace rushlight::xnnpack {

// Sets dtype, is_int4 and quantization, but for the scales of channels and groups. `value` has its shape.
Error read_quantization(const schema::XNNQuantizedTensorValue& table, size_t id, Value* value);

// Says where the scales of channels or groups are; there are none if count is 0.
struct Scales {
  uint32_t count = 0;
  uint32_t constant = 0;             // entry of the constant data, or 0: in the list
  uint64_t size = 0;                 // bytes of a scale in the constant
  flatbuffer::Vector<float> floats;  // the list
};
Error find_scales(const schema::XNNQuantizedTensorValue& table, size_t id, const Value& value, Scales* scales);
// Fails unless all scales are positive numbers.
Error check_scales(size_t id, const Value& value, uint32_t count);

// Returns the bytes of a constant. Rows of 4-bit numbers fill whole bytes.
uint64_t constant_bytes(const Value& value);

// Fails unless every node can take the element types and scales of its values.
Error check_quantization(const Graph& graph);

}  // namespace rushlight::xnnpack
