#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/deviation.h"

namespace rushlight::portable {

void var_mean_correction_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                             const std::optional<Scalar>& correction, bool keepdim, Tensor& var, Tensor& mean) {
  reduce_spread(context, in, dims, Spread::kVariance, correction ? correction->to<double>() : 1.0, keepdim, var, &mean);
}

}  // namespace rushlight::portable
