#pragma once

#include <cstdint>
#include <string_view>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

enum class ScatterReduction : uint8_t { Assign, Sum, Product, Mean, Maximum, Minimum };

// Parses the name of a reduction: "sum", "prod", "mean", "amax", "amin" of scatter_reduce; "add", "multiply" of
// scatter. For other names records the failure and returns false.
bool scatter_reduction(KernelRuntimeContext& context, std::string_view name, bool scatter_reduce,
                       ScatterReduction* reduction);

// out = in, and then out[..., index, ...] = reduction of that element and src's, in the index's row-major order.
// Without `include_self` the elements of `in` do not take part where there is an index.
void scatter(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, const Tensor& src,
             ScatterReduction reduction, bool include_self, Tensor& out);

// Does the same with one number as the source.
void scatter_number(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                    const Scalar& number, ScatterReduction reduction, Tensor& out);

}  // namespace rushlight
