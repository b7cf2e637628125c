#pragma once

#include "executorch/runtime/core/portable_type/tensor_impl.h"
#include "rushlight/core/tensor.h"

namespace executorch {
namespace runtime {
namespace etensor {

// The runtime's handle to a tensor.
using Tensor = ::rushlight::Tensor;

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::Tensor;
}  // namespace executor
}  // namespace torch
