#pragma once

#include <cstdint>

#include "kernels/shared/accumulate.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/rows.h"
#include "kernels/shared/shape.h"

namespace rushlight {

// Computes out = function.apply(g, y, sum of function.term(g, y) along `dim`). y is the forward pass's result.
template <typename Function>
void softmax_backward(KernelRuntimeContext& context, const Tensor& grad, const Tensor& output, int64_t dim, Tensor& out,
                      const Function& function) {
  constexpr int64_t kBlock = 128;
  int64_t axis;
  RL_KERNEL_REQUIRE(context, same_shape(grad, output), InvalidArgument,
                    "the gradient and the output of the forward pass have different shapes");
  if (!normalize_dim(context, dim, grad.dim(), &axis) || !resize_out_like(context, out, grad)) return;
  switch_compute<kinds::kFloating>(context, output.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Rows rows({grad, output, out}, axis);
    const Convert load_grad = load_function(grad.scalar_type(), scalar_type_of<C>);
    const Convert load_output = load_function(output.scalar_type(), scalar_type_of<C>);
    const Convert store = store_function(scalar_type_of<C>, out.scalar_type());
    rows.for_each(context, [&](const int64_t* offsets) {
      C g[kBlock], y[kBlock];
      const auto for_each_block = [&](const auto& body) {
        for (int64_t first = 0; first < rows.length(0); first += kBlock) {
          const int64_t n = rows.length(0) - first < kBlock ? rows.length(0) - first : kBlock;
          load_grad(at(grad, offsets[0] + first * rows.stride(0)), rows.stride(0), g, 1, n);
          load_output(at(output, offsets[1] + first * rows.stride(1)), rows.stride(1), y, 1, n);
          body(first, n);
        }
      };
      double sum = 0;
      for_each_block([&](int64_t, int64_t n) {
        sum +=
            sum_of(n, [&](int64_t i) { return function.term(static_cast<double>(g[i]), static_cast<double>(y[i])); });
      });
      const C total = static_cast<C>(sum);
      for_each_block([&](int64_t first, int64_t n) {
        for (int64_t i = 0; i < n; ++i) g[i] = function.apply(g[i], y[i], total);
        store(g, 1, at(out, offsets[2] + first * rows.stride(2)), rows.stride(2), n);
      });
    });
  });
}

}  // namespace rushlight
