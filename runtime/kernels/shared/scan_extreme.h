#pragma once

#include "kernels/shared/scan.h"

namespace rushlight {

// Computes the best element so far along `dim`, and its last position. After a NaN, the result stays NaN. Better{}(x,
// best) returns whether x replaces `best`.
template <typename Better>
void scan_extreme(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& values, Tensor& indices) {
  int64_t axis;
  if (!prepare_scan(context, in, dim, values, &axis) || !resize_out_like(context, indices, in)) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Rows rows({in, values, indices}, axis);
    const Convert load = load_function(in.scalar_type(), scalar_type_of<C>);
    const Convert store_value = store_function(scalar_type_of<C>, values.scalar_type());
    const Convert store_index = store_function(ScalarType::Long, indices.scalar_type());
    rows.for_each(context, [&](const int64_t* offsets) {
      C best{};
      int64_t index = 0;
      for (int64_t i = 0; i < rows.length(0); ++i) {
        C x;
        load(at(in, offsets[0] + i * rows.stride(0)), 1, &x, 1, 1);
        if (i == 0 || x != x || Better{}(x, best)) {
          best = x;
          index = i;
        }
        store_value(&best, 1, at(values, offsets[1] + i * rows.stride(1)), 1, 1);
        store_index(&index, 1, at(indices, offsets[2] + i * rows.stride(2)), 1, 1);
      }
    });
  });
}

}  // namespace rushlight
