#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/deviation.h"

namespace rushlight::portable {

void std_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims, bool unbiased,
             bool keepdim, Tensor& out) {
  reduce_spread(context, in, dims, Spread::kDeviation, unbiased ? 1.0 : 0.0, keepdim, out);
}

void std_correction_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                        const std::optional<Scalar>& correction, bool keepdim, Tensor& out) {
  reduce_spread(context, in, dims, Spread::kDeviation, correction ? correction->to<double>() : 1.0, keepdim, out);
}

}  // namespace rushlight::portable
