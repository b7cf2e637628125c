#include <cmath>

#include "kernels/portable/reduction.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void histc_out(KernelRuntimeContext& context, const Tensor& in, int64_t bins, const Scalar& min, const Scalar& max,
               Tensor& out) {
  RL_KERNEL_REQUIRE(context, bins > 0, InvalidArgument, "the number of bins %lld is not positive",
                    static_cast<long long>(bins));
  if (!resize_out(context, out, {bins})) return;
  RL_KERNEL_REQUIRE(context, out.scalar_type() == in.scalar_type(), InvalidType,
                    "the result is %s, but the input is %s", dtype_name(out.scalar_type()),
                    dtype_name(in.scalar_type()));
  switch_dtype<dtypes::kFloat>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = in.const_data_ptr<T>();
    T* counts = out.mutable_data_ptr<T>();
    for (int64_t i = 0; i < bins; ++i) counts[i] = 0;
    double low = min.to<double>(), high = max.to<double>();
    if (low == high && in.numel() > 0) {
      low = high = static_cast<double>(x[0]);
      for (int64_t i = 1; i < in.numel(); ++i) {
        low = x[i] < low ? static_cast<double>(x[i]) : low;
        high = x[i] > high ? static_cast<double>(x[i]) : high;
      }
    }
    if (low == high) {
      low -= 1;
      high += 1;
    }
    RL_KERNEL_REQUIRE(context, low < high && std::isfinite(high - low), InvalidArgument,
                      "the range [%g, %g] is empty or not finite", low, high);
    for (int64_t i = 0; i < in.numel(); ++i) {
      const double value = static_cast<double>(x[i]);
      if (!(value >= low && value <= high)) continue;
      const int64_t bin = static_cast<int64_t>((value - low) / (high - low) * static_cast<double>(bins));
      counts[bin < bins ? bin : bins - 1] += 1;
    }
  });
}

}  // namespace rushlight::portable
