#include "kernels/portable/create.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void linspace_out(KernelRuntimeContext& context, const Scalar& start, const Scalar& end, int64_t steps, Tensor& out) {
  RL_KERNEL_REQUIRE(context, steps >= 0, InvalidArgument, "the number of steps %lld is negative",
                    static_cast<long long>(steps));
  if (!resize_out(context, out, {steps})) return;
  switch_dtype<dtypes::kRealH>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    // The first half counts from the start, the second half from the end, so that both ends are exact.
    using C = std::conditional_t<std::is_integral_v<T> || sizeof(T) == 8, double, float>;
    const C first = std::is_integral_v<T> ? static_cast<C>(start.to<int64_t>()) : start.to<C>();
    const C last = std::is_integral_v<T> ? static_cast<C>(end.to<int64_t>()) : end.to<C>();
    const C by = steps > 1 ? (last - first) / static_cast<C>(steps - 1) : C(0);
    T* to = out.mutable_data_ptr<T>();
    for (int64_t i = 0; i < steps; ++i) {
      const C value =
          i < steps / 2 || steps == 1 ? first + by * static_cast<C>(i) : last - by * static_cast<C>(steps - 1 - i);
      to[i] = static_cast<T>(value);
    }
  });
}

}  // namespace rushlight::portable
