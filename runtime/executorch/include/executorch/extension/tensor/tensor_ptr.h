#pragma once

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/exec_aten/util/scalar_type_util.h"
#include "rushlight/module/tensor_ptr.h"

namespace executorch {
namespace extension {

// Tensors that own their elements, and the functions that make them; see rushlight/module/tensor_ptr.h.
using ::rushlight::clone_tensor_ptr;
using ::rushlight::make_tensor_ptr;
using ::rushlight::resize_tensor_ptr;
using ::rushlight::TensorPtr;

}  // namespace extension
}  // namespace executorch
