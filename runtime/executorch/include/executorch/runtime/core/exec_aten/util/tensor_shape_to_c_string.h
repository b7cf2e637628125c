#pragma once

#include <array>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h"
#include "executorch/runtime/core/span.h"

namespace executorch {
namespace runtime {

// The size of the longest text of a shape, including NUL.
constexpr size_t kTensorShapeStringSizeLimit = 3 + 12 * kTensorDimensionLimit;

// Returns a shape as text: "(2, 3)".
std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(Span<const aten::SizesType> shape);

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::kTensorShapeStringSizeLimit;
using ::executorch::runtime::tensor_shape_to_c_string;
}  // namespace executor
}  // namespace torch
