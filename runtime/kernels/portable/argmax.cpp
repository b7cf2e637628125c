#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/extreme.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

void argmax_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, bool keepdim,
                Tensor& out) {
  DimMask mask;
  if (!(dim ? dim_mask(context, in, *dim, &mask) : dim_mask(context, in, std::nullopt, &mask))) return;
  if (!require_nonempty(context, in, mask, "argmax")) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {out}, ExtremeIndex<C, Greater>(), true);
  });
}

}  // namespace rushlight::portable
