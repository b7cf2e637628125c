#include <cmath>
#include <complex>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void polar_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  RL_KERNEL_REQUIRE(context, is_complex(out.scalar_type()), InvalidType, "the result is %s, not complex",
                    dtype_name(out.scalar_type()));
  const Tensor inputs[] = {a, b};
  if (!resize_to_broadcast(context, inputs, out)) return;
  switch_compute<kinds::kFloating>(context, a.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    map_elements<C>(context, inputs, out, a.scalar_type(),
                    [](C size, C angle) { return std::complex<C>(size * std::cos(angle), size * std::sin(angle)); });
  });
}

}  // namespace rushlight::portable
