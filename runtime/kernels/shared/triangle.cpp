#include "kernels/shared/triangle.h"

#include <algorithm>

#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"

namespace rushlight {

void copy_triangle(KernelRuntimeContext& context, const Tensor& in, int64_t diagonal, bool lower, const Tensor& out) {
  const int64_t rank = in.dim();
  RL_KERNEL_REQUIRE(context, rank >= 2, InvalidArgument, "a triangle needs a tensor of rank 2 or more, not %lld",
                    static_cast<long long>(rank));
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, in.sizes()) || in.numel() == 0) return;
  const int64_t rows = in.size(rank - 2), columns = in.size(rank - 1);
  const int64_t in_row = in.stride(rank - 2), in_column = in.stride(rank - 1);
  const int64_t out_row = out.stride(rank - 2), out_column = out.stride(rank - 1);
  const int64_t shift = std::clamp(diagonal, -rows, columns);
  context.parallel_for(0, in.numel() / columns, std::max<int64_t>(1, 16384 / columns), [&](int64_t begin, int64_t end) {
    switch_element_size(context, in.element_size(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t line = begin; line < end; ++line) {
        const int64_t row = line % rows;
        int64_t rest = line / rows;
        int64_t from = row * in_row, to = row * out_row;
        for (int64_t axis = rank - 3; axis >= 0; --axis) {
          from += rest % in.size(axis) * in.stride(axis);
          to += rest % in.size(axis) * out.stride(axis);
          rest /= in.size(axis);
        }
        const int64_t edge = std::clamp<int64_t>(row + shift + (lower ? 1 : 0), 0, columns);
        const int64_t first = lower ? 0 : edge, last = lower ? edge : columns;
        const T* source = in.const_data_ptr<T>() + from;
        T* target = out.mutable_data_ptr<T>() + to;
        for (int64_t i = 0; i < first; ++i) target[i * out_column] = T{};
        for (int64_t i = first; i < last; ++i) target[i * out_column] = source[i * in_column];
        for (int64_t i = last; i < columns; ++i) target[i * out_column] = T{};
      }
    });
  });
}

}  // namespace rushlight
