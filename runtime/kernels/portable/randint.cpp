#include "kernels/portable/create.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/random.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void randint_low_out(KernelRuntimeContext& context, int64_t low, int64_t high, Span<const int64_t> sizes, Tensor& out) {
  RL_KERNEL_REQUIRE(context, low < high, InvalidArgument, "there is no integer in [%lld, %lld)",
                    static_cast<long long>(low), static_cast<long long>(high));
  Shape shape;
  for (const int64_t size : sizes) shape.push(size);
  if (!resize_out(context, out, shape.span())) return;
  const RandomStream random = next_random_stream();
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  switch_dtype<dtypes::kRealHB>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.mutable_data_ptr<T>();
    for (int64_t i = 0; i < out.numel(); ++i) {
      const int64_t value =
          static_cast<int64_t>(static_cast<uint64_t>(low) + random.below(static_cast<uint64_t>(i), span));
      to[i] = static_cast<T>(static_cast<std::conditional_t<std::is_integral_v<T>, int64_t,
                                                            std::conditional_t<sizeof(T) == 8, double, float>>>(value));
    }
  });
}

void randint_out(KernelRuntimeContext& context, int64_t high, Span<const int64_t> sizes, Tensor& out) {
  randint_low_out(context, 0, high, sizes, out);
}

}  // namespace rushlight::portable
