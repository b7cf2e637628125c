#include <cmath>

#include "kernels/portable/create.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/integer.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

namespace {

// Returns the number of elements from `start` in steps of `step` below `end`, or -1 if the arguments are invalid.
int64_t range_length(const Scalar& start, const Scalar& end, const Scalar& step, ScalarType type) {
  double length;
  if (type == ScalarType::Long && !start.is_double() && !end.is_double() && !step.is_double()) {
    const int64_t by = step.to<int64_t>(), first = start.to<int64_t>(), last = end.to<int64_t>();
    if (by == 0) return -1;
    if (last == first) return 0;
    if ((by > 0) != (last > first)) return -1;
    length = std::ceil((static_cast<double>(last) - static_cast<double>(first)) / static_cast<double>(by));
    if (std::abs(static_cast<double>(last) - static_cast<double>(first)) < 0x1p52) {
      const int64_t span = by > 0 ? last - first : first - last, stride = by > 0 ? by : -by;
      return span / stride + (span % stride != 0);
    }
  } else {
    length = std::ceil((end.to<double>() - start.to<double>()) / step.to<double>());
  }
  return length >= 0 && length <= INT32_MAX ? static_cast<int64_t>(length) : -1;
}

}  // namespace

void arange_start_out(KernelRuntimeContext& context, const Scalar& start, const Scalar& end, const Scalar& step,
                      Tensor& out) {
  const int64_t length = range_length(start, end, step, out.scalar_type());
  RL_KERNEL_REQUIRE(context, length >= 0, InvalidArgument, "arange from %g to %g in steps of %g has no elements",
                    start.to<double>(), end.to<double>(), step.to<double>());
  if (!resize_out(context, out, {length})) return;
  switch_dtype<dtypes::kRealH>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.mutable_data_ptr<T>();
    if constexpr (std::is_integral_v<T>) {
      const int64_t first = start.to<int64_t>(), by = step.to<int64_t>();
      for (int64_t i = 0; i < length; ++i) to[i] = static_cast<T>(wrap_add(first, wrap_mul(by, i)));
    } else {
      const double first = start.to<double>(), by = step.to<double>();
      for (int64_t i = 0; i < length; ++i)
        to[i] = static_cast<T>(
            static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(first + by * static_cast<double>(i)));
    }
  });
}

void arange_out(KernelRuntimeContext& context, const Scalar& end, Tensor& out) {
  arange_start_out(context, 0, end, 1, out);
}

}  // namespace rushlight::portable
