#pragma once

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "rushlight/module/tensor_accessor.h"

namespace executorch {
namespace extension {
using ::rushlight::make_tensor_accessor;
using ::rushlight::TensorAccessor;
}  // namespace extension
}  // namespace executorch
