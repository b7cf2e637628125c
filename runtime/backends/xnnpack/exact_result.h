#pragma once

#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// Whether XNNPACK's operator loses NaN or infinities, and exact_result() computes such results.
bool loses_special_values(Kind kind);

// Element `index` of the result, before it is clamped, as PyTorch computes it. `inputs` are those of the node; it reads
// the first one through `floats`. It is slow.
float exact_result(const Node& node, const Operand* inputs, const float* floats, const Shape& out, int64_t index);

}  // namespace rushlight::xnnpack
