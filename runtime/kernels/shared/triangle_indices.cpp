#include "kernels/shared/triangle_indices.h"

#include <algorithm>

#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/shape.h"

namespace rushlight {

void triangle_indices(KernelRuntimeContext& context, int64_t rows, int64_t columns, int64_t offset, bool lower,
                      Tensor& out) {
  RL_KERNEL_REQUIRE(context, rows >= 0 && columns >= 0 && rows <= INT32_MAX && columns <= INT32_MAX, InvalidArgument,
                    "a matrix cannot have %lld rows and %lld columns", static_cast<long long>(rows),
                    static_cast<long long>(columns));
  const int64_t shift = std::clamp(offset, -rows, columns);
  const auto edge = [&](int64_t row) { return std::clamp<int64_t>(row + shift + (lower ? 1 : 0), 0, columns); };
  int64_t count = 0;
  for (int64_t row = 0; row < rows; ++row) count += lower ? edge(row) : columns - edge(row);
  if (!resize_out(context, out, {2, count})) return;
  static constexpr DtypeSet kTypes(ScalarType::Long, ScalarType::Int);
  switch_dtype<kTypes>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.mutable_data_ptr<T>();
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t last = lower ? edge(row) : columns;
      for (int64_t column = lower ? 0 : edge(row); column < last; ++column, to += out.stride(1)) {
        to[0] = static_cast<T>(row);
        to[out.stride(0)] = static_cast<T>(column);
      }
    }
  });
}

}  // namespace rushlight
