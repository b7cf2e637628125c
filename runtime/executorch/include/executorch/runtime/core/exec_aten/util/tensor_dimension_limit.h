#pragma once

#include <cstddef>

#include "rushlight/core/tensor.h"

namespace executorch {
namespace runtime {

// The largest number of dimensions of a tensor.
constexpr size_t kTensorDimensionLimit = ::rushlight::kMaxDim;

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::kTensorDimensionLimit;
}  // namespace executor
}  // namespace torch
