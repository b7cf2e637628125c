#pragma once

#include "rushlight/core/tensor.h"

namespace executorch {
namespace runtime {

// STATIC, DYNAMIC_BOUND or DYNAMIC_UNBOUND.
using TensorShapeDynamism = ::rushlight::ShapeDynamism;

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::TensorShapeDynamism;
}  // namespace executor
}  // namespace torch
