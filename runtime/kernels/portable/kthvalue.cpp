#include "kernels/portable/reduction.h"
#include "kernels/shared/selection.h"

namespace rushlight::portable {

void kthvalue_values(KernelRuntimeContext& context, const Tensor& in, int64_t k, int64_t dim, bool keepdim,
                     Tensor& values, Tensor& indices) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return;
  const int64_t n = in.dim() > 0 ? in.size(axis) : 1;
  RL_KERNEL_REQUIRE(context, k >= 1 && k <= n, InvalidArgument, "k is %lld, but must be in [1, %lld]",
                    static_cast<long long>(k), static_cast<long long>(n));
  select_from_rows(context, in, dim, keepdim, values, indices,
                   [k](auto* items, int64_t count) { return item_of_rank(items, count, k - 1); });
}

}  // namespace rushlight::portable
