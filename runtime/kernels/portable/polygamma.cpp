#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/gamma.h"
#include "kernels/shared/special.h"

namespace rushlight::portable {

void polygamma_out(KernelRuntimeContext& context, int64_t n, const Tensor& in, Tensor& out) {
  RL_KERNEL_REQUIRE(context, n >= 0, InvalidArgument, "the order %lld of polygamma is negative",
                    static_cast<long long>(n));
  elementwise_float(context, in, out, [n](auto c) {
    using C = decltype(c);
    return [n](C x) {
      const auto value = static_cast<double>(x);
      return static_cast<C>(n == 0 ? digamma(value) : polygamma(n, value));
    };
  });
}

}  // namespace rushlight::portable
