#include "kernels/portable/reduction.h"
#include "kernels/shared/extreme.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

void amax_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, bool keepdim, Tensor& out) {
  DimMask mask;
  if (!dim_mask(context, in, dims, &mask) || !require_nonempty(context, in, mask, "amax")) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {out}, ExtremeValue<C, Greater>());
  });
}

}  // namespace rushlight::portable
