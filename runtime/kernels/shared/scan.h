#pragma once

#include <cstdint>

#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/rows.h"
#include "kernels/shared/shape.h"

namespace rushlight {

// out[i] = state after taking in[0..i] of a row along `axis`. A Function has `State init() const` and
// `C update(State&, C x) const`, which gives what is written.
template <typename C, typename Function>
void scan(KernelRuntimeContext& context, const Tensor& in, int64_t axis, const Tensor& out, const Function& function) {
  constexpr int64_t kBlock = 64;
  const Rows rows({in, out}, axis);
  const Convert load = load_function(in.scalar_type(), scalar_type_of<C>);
  const Convert store = store_function(scalar_type_of<C>, out.scalar_type());
  rows.for_each(context, [&](const int64_t* offsets) {
    C block[kBlock];
    auto state = function.init();
    for (int64_t first = 0; first < rows.length(0); first += kBlock) {
      const int64_t n = rows.length(0) - first < kBlock ? rows.length(0) - first : kBlock;
      load(at(in, offsets[0] + first * rows.stride(0)), rows.stride(0), block, 1, n);
      for (int64_t i = 0; i < n; ++i) block[i] = function.update(state, block[i]);
      store(block, 1, at(out, offsets[1] + first * rows.stride(1)), rows.stride(1), n);
    }
  });
}

// Sets out's shape to in's and gives the axis from 0 on.
inline bool prepare_scan(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& out,
                         int64_t* axis) {
  return normalize_dim(context, dim, in.dim(), axis) && resize_out_like(context, out, in);
}

}  // namespace rushlight
