#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/deviation.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

void std_over(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
              double correction, bool keepdim, const Tensor& out) {
  DimMask mask;
  if (!dim_mask(context, in, dims, &mask)) return;
  switch_compute<kinds::kFloating>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {out}, Deviation<C, true>{correction});
  });
}

}  // namespace

void std_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims, bool unbiased,
             bool keepdim, Tensor& out) {
  std_over(context, in, dims, unbiased ? 1.0 : 0.0, keepdim, out);
}

void std_correction_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                        const std::optional<Scalar>& correction, bool keepdim, Tensor& out) {
  std_over(context, in, dims, correction ? correction->to<double>() : 1.0, keepdim, out);
}

}  // namespace rushlight::portable
