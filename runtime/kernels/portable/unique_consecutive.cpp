#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/unique.h"

namespace rushlight::portable {

void unique_consecutive_out(KernelRuntimeContext& context, const Tensor& in, bool return_inverse, bool return_counts,
                            std::optional<int64_t> dim, Tensor& values, Tensor& inverse, Tensor& counts) {
  RL_KERNEL_REQUIRE(context, !dim || in.dim() == 1, NotSupported,
                    "unique_consecutive along a dim of a tensor of rank %lld is not supported",
                    static_cast<long long>(in.dim()));
  unique_runs(context, in, false, return_inverse, return_counts, values, inverse, counts);
}

}  // namespace rushlight::portable
