#pragma once

#include <cstdint>

#include "rushlight/core/error.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Adam with decoupled weight decay, with the terms and default values of torch.optim.AdamW.
struct AdamWOptions {
  double lr = 1e-3;            // learning rate
  double beta1 = 0.9;          // decay rate of the first moment
  double beta2 = 0.999;        // decay rate of the second moment
  double eps = 1e-8;           // term of the denominator
  double weight_decay = 1e-2;  // fraction of the parameter that a step subtracts, divided by the learning rate
  bool amsgrad = false;        // divide by the largest second moment of all steps
};

// Returns InvalidArgument unless lr, eps and weight_decay are finite numbers >= 0, and beta1 and beta2 are in [0, 1).
Error check_adamw_options(const AdamWOptions& options);

// Returns the dtype of the moments of a parameter: float64 for float64, else float32.
ScalarType adamw_moment_dtype(ScalarType parameter);

// Updates a parameter in place by one step. `step` is the number of the step, 1 for the first one:
//
//   m = beta1 * m + (1 - beta1) * gradient
//   v = beta2 * v + (1 - beta2) * gradient^2
//   x = amsgrad ? max(x, v) : v
//   parameter = (1 - lr * weight_decay) * parameter - lr * m / (1 - beta1^step) / (sqrt(x / (1 - beta2^step)) + eps)
//
// Sources: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019 (AdamW), and Reddi et al., "On the
// Convergence of Adam and Beyond", 2018 (AMSGrad).
//
// The gradient has the shape, dim order and dtype of the parameter: float32, float64, float16 or bfloat16. `mean` (m),
// `square` (v) and `maximum` (x) have its shape and dim order, and the dtype adamw_moment_dtype(): a 16-bit second
// moment could not change by less than 1/256, and the squares of small gradients would be zero in float16. `maximum`
// may be null without amsgrad, and is then not changed. At step 1, the elements of these three are written but not
// read. The arithmetic has the dtype of the moments. The tensors must not overlap. After the error InvalidArgument or
// NotSupported, they are unchanged.
Error adamw_step(const AdamWOptions& options, const Tensor& parameter, const Tensor& gradient, const Tensor& mean,
                 const Tensor& square, const Tensor* maximum, int64_t step);

}  // namespace rushlight
