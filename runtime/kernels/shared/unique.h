#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Finds runs of equal elements, in row-major order or after sorting. `values` receives the value of each run, `inverse`
// the number of the run of each element of `in`, and `counts` the length of each run. A result that is not requested
// becomes an empty tensor. NaN differs from every number, also from NaN.
void unique_runs(KernelRuntimeContext& context, const Tensor& in, bool sorts, bool return_inverse, bool return_counts,
                 const Tensor& values, const Tensor& inverse, const Tensor& counts);

}  // namespace rushlight
