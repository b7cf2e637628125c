#pragma once

#include "backends/xnnpack/graph.h"

namespace rushlight::xnnpack {

// Sets dtype, is_int4 and quantization, except scales per channel or group. The shape of `value` is already set.
Error read_quantization(const schema::XNNQuantizedTensorValue& table, size_t id, Value* value);

// The location of the scales per channel or group. `count` is 0 if there are none.
struct Scales {
  uint32_t count = 0;
  uint32_t constant = 0;             // entry of the constant data; 0: the scales are in `floats`
  uint64_t size = 0;                 // bytes of one scale in the constant
  flatbuffer::Vector<float> floats;  // the list of scales
};
Error find_scales(const schema::XNNQuantizedTensorValue& table, size_t id, const Value& value, Scales* scales);
// Fails unless all scales are positive numbers.
Error check_scales(size_t id, const Value& value, uint32_t count);

// Returns the bytes of a constant. Rows of 4-bit numbers fill whole bytes.
uint64_t constant_bytes(const Value& value);

// Fails unless every node supports the dtypes and scales of its values.
Error check_quantization(const Graph& graph);

}  // namespace rushlight::xnnpack
