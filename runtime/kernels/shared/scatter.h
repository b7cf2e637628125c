#pragma once

#include <cstdint>
#include <string_view>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

enum class ScatterReduction : uint8_t { Assign, Sum, Product, Mean, Maximum, Minimum };

// Parses the name of a reduction: "sum", "prod", "mean", "amax" and "amin" of scatter_reduce, "add" and "multiply" of
// scatter. For other names, records the failure and returns false.
bool scatter_reduction(KernelRuntimeContext& context, std::string_view name, bool scatter_reduce,
                       ScatterReduction* reduction);

// Copies `in` to `out`, and then reduces each element out[..., index, ...] with the element of src, in the row-major
// order of the index. Without `include_self`, the results at indexed positions do not depend on `in`.
void scatter(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, const Tensor& src,
             ScatterReduction reduction, bool include_self, Tensor& out);

// Does the same with one number as the source.
void scatter_number(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                    const Scalar& number, ScatterReduction reduction, Tensor& out);

}  // namespace rushlight
