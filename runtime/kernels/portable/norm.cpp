#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

Scalar order(const std::optional<Scalar>& p) { return p.value_or(Scalar(2)); }

}  // namespace

void norm_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Scalar>& p, Span<const int64_t> dims,
              bool keepdim, Tensor& out) {
  linalg_vector_norm_out(context, in, order(p), dims, keepdim, std::nullopt, out);
}

void norm_scalar_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& p, Tensor& out) {
  linalg_vector_norm_out(context, in, p, std::nullopt, false, std::nullopt, out);
}

}  // namespace rushlight::portable
