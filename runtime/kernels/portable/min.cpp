#include "kernels/portable/reduction.h"
#include "kernels/shared/extreme.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

void min_dim_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& values,
                 Tensor& indices) {
  DimMask mask;
  if (!dim_mask(context, in, dim, &mask) || !require_nonempty(context, in, mask, "min")) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {values, indices}, Extreme<C, Smaller>(), true);
  });
}

void min_unary_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  amin_out(context, in, {}, false, out);
}

}  // namespace rushlight::portable
