#include <utility>

#include "kernels/portable/create.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/random.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void randperm_out(KernelRuntimeContext& context, int64_t n, Tensor& out) {
  RL_KERNEL_REQUIRE(context, n >= 0, InvalidArgument, "there is no permutation of %lld elements",
                    static_cast<long long>(n));
  if (!resize_out(context, out, {n})) return;
  switch_dtype<dtypes::kRealH>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.mutable_data_ptr<T>();
    for (int64_t i = 0; i < n; ++i)
      to[i] = static_cast<T>(static_cast<std::conditional_t<std::is_integral_v<T>, int64_t, float>>(i));
    // The Fisher-Yates shuffle.
    const RandomStream random = next_random_stream();
    for (int64_t i = n - 1; i > 0; --i)
      std::swap(to[i], to[random.below(static_cast<uint64_t>(i), static_cast<uint64_t>(i) + 1)]);
  });
}

}  // namespace rushlight::portable
