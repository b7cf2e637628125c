#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/deviation.h"

namespace rushlight::portable {

void std_mean_correction_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                             const std::optional<Scalar>& correction, bool keepdim, Tensor& std, Tensor& mean) {
  reduce_spread(context, in, dims, Spread::kDeviation, correction ? correction->to<double>() : 1.0, keepdim, std,
                &mean);
}

}  // namespace rushlight::portable
