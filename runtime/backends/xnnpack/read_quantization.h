#pragma once

#include "backends/xnnpack/graph.h"

namespace rushlight::xnnpack {

// Sets `dtype`, `is_int4` and `quantization` of a value, except the scales per channel or group. The shape of `value`
// is already set.
Error read_quantization(const schema::XNNQuantizedTensorValue& table, size_t id, Value* value);

// Where the scales per channel or group of a value are stored. `count` is 0 if it has no such scales.
struct Scales {
  uint32_t count = 0;
  uint32_t constant = 0;             // index in the constant data, or 0 if the scales are in `floats`
  uint64_t size = 0;                 // bytes of one scale in the constant
  flatbuffer::Vector<float> floats;  // the list of scales
};
Error find_scales(const schema::XNNQuantizedTensorValue& table, size_t id, const Value& value, Scales* scales);
// Returns InvalidProgram unless all scales are positive and finite.
Error check_scales(size_t id, const Value& value, uint32_t count);

// Returns the bytes of a constant. Each row of 4-bit numbers begins with a new byte.
uint64_t constant_bytes(const Value& value);

// Returns InvalidProgram unless every node supports the dtypes and scales of its values.
Error check_quantization(const Graph& graph);

}  // namespace rushlight::xnnpack
