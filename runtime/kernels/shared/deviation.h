#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

enum class Spread { kVariance, kDeviation };

// Computes the variance of the elements along `dims`, or its square root. Without dims, all dims are reduced.
// `correction` is subtracted from the number of elements in the divisor. `mean` also receives the mean, unless it is
// null. Results of no elements are NaN.
void reduce_spread(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                   Spread spread, double correction, bool keepdim, const Tensor& out, const Tensor* mean = nullptr);

}  // namespace rushlight
