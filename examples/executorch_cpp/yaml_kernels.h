#pragma once

#include <executorch/runtime/kernel/kernel_includes.h>

namespace yaml_ops {
namespace native {

using executorch::aten::Tensor;
using executorch::runtime::KernelRuntimeContext;

// yaml_ops::scale(Tensor x, float factor) -> Tensor, for float32 and for float64.
Tensor& scale_out(KernelRuntimeContext& context, const Tensor& x, double factor, Tensor& out);
Tensor& scale_double_out(KernelRuntimeContext& context, const Tensor& x, double factor, Tensor& out);

}  // namespace native
}  // namespace yaml_ops
