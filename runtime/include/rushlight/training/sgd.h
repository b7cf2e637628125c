#pragma once

#include "rushlight/core/error.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Stochastic gradient descent with the terms of torch.optim.SGD.
struct SgdOptions {
  double lr = 0;            // learning rate
  double momentum = 0;      // factor of the momentum buffer
  double dampening = 0;     // fraction of the gradient that is not added to the momentum buffer
  double weight_decay = 0;  // L2 penalty
  bool nesterov = false;    // use Nesterov momentum
};

// Returns InvalidArgument unless all numbers are finite, lr, momentum and weight_decay are not negative, and Nesterov's
// method has a momentum and no dampening.
Error check_sgd_options(const SgdOptions& options);

// Updates a parameter in place by one step:
//
//   d = gradient + weight_decay * parameter
//   m = d at the first step, else momentum * m + (1 - dampening) * d
//   parameter -= lr * (nesterov ? d + momentum * m : m)
//
// The tensors have the shape, dim order and dtype of the parameter: float32, float64, float16 or bfloat16. The
// arithmetic for the last two dtypes is in float32. `direction` is the momentum buffer m. It may be null if there is no
// momentum; at the first step its elements are written but not read. After the error InvalidArgument or NotSupported,
// the tensors are unchanged.
Error sgd_step(const SgdOptions& options, const Tensor& parameter, const Tensor& gradient, const Tensor* direction,
               bool is_first);

}  // namespace rushlight
