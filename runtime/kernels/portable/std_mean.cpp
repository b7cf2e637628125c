#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/deviation.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

void std_mean_correction_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                             const std::optional<Scalar>& correction, bool keepdim, Tensor& std, Tensor& mean) {
  DimMask mask;
  if (!dim_mask(context, in, dims, &mask)) return;
  switch_compute<kinds::kFloating>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {std, mean},
              DeviationAndMean<C, true>{{correction ? correction->to<double>() : 1.0}});
  });
}

}  // namespace rushlight::portable
