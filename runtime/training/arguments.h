#pragma once

#include "rushlight/core/error.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Returns InvalidArgument unless `other` has memory, the given dtype, and the shape and dim order of the parameter.
// Messages call it `what`.
Error check_like(const Tensor& parameter, const Tensor& other, ScalarType dtype, const char* what);

// Returns InvalidArgument unless the parameter has memory and the gradient has its shape, dim order and dtype, and
// NotSupported if an optimizer cannot update a parameter of this dtype. Messages contain the name of the optimizer.
Error check_gradient(const char* optimizer, const Tensor& parameter, const Tensor& gradient);

// Calls `run` with null pointers to the type of a parameter's elements and to the type of the arithmetic: float64 for
// float64, and float32 for float32, float16 and bfloat16. check_gradient() refuses all other dtypes.
template <typename Run>
void run_with_types(ScalarType parameter, const Run& run) {
  float* const single = nullptr;
  switch (parameter) {
    case ScalarType::Double:
      return run(static_cast<double*>(nullptr), static_cast<double*>(nullptr));
    case ScalarType::Half:
      return run(static_cast<Half*>(nullptr), single);
    case ScalarType::BFloat16:
      return run(static_cast<BFloat16*>(nullptr), single);
    default:
      return run(single, single);
  }
}

}  // namespace rushlight
