#include "kernels/portable/prim.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/element.h"

namespace rushlight::portable {

void local_scalar_dense(KernelRuntimeContext& context, const Tensor& in, EValue& out) {
  RL_KERNEL_REQUIRE(context, in.numel() == 1, InvalidArgument,
                    "a tensor of %lld elements cannot be converted to a number", static_cast<long long>(in.numel()));
  switch_dtype<dtypes::kRealHB>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = element(in.const_data_ptr<T>());
    if constexpr (std::is_same_v<T, bool>) {
      out = EValue(value);
    } else if constexpr (std::is_integral_v<T>) {
      out = EValue(static_cast<int64_t>(value));
    } else {
      out = EValue(static_cast<double>(value));
    }
  });
}

}  // namespace rushlight::portable
