#pragma once

#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// Whether XNNPACK's operator computes wrong results from NaN or infinities, and exact_result() can compute the results
// of this kind.
bool loses_special_values(Kind kind);

// Returns element `index` of the result before clamping, as PyTorch computes it. `inputs` are the inputs of the node;
// the first one is read as `floats`. This function is slow.
float exact_result(const Node& node, const Operand* inputs, const float* floats, const Shape& out, int64_t index);

}  // namespace rushlight::xnnpack
