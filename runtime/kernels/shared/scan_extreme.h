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
    const int64_t length = rows.length(0);
    if (rows.adjacent() && rows.stride(0) != 1) {
      // The rows are columns of a matrix. Many columns are processed at the same time.
      constexpr int64_t kColumns = 256;
      rows.for_each_run(context, kColumns, [&](const int64_t* offsets, int64_t n) {
        C block[kColumns], best[kColumns];
        int64_t index[kColumns];
        for (int64_t i = 0; i < length; ++i) {
          load(at(in, offsets[0] + i * rows.stride(0)), 1, block, 1, n);
          for (int64_t j = 0; j < n; ++j) {
            const C x = block[j];
            const bool replaces = i == 0 || x != x || Better{}(x, best[j]);
            best[j] = replaces ? x : best[j];
            index[j] = replaces ? i : index[j];
          }
          store_value(best, 1, at(values, offsets[1] + i * rows.stride(1)), 1, n);
          store_index(index, 1, at(indices, offsets[2] + i * rows.stride(2)), 1, n);
        }
      });
      return;
    }
    rows.for_each(context, [&](const int64_t* offsets) {
      constexpr int64_t kBlock = 128;
      C block[kBlock];
      int64_t positions[kBlock];
      C best{};
      int64_t index = 0;
      for (int64_t first = 0; first < length; first += kBlock) {
        const int64_t n = length - first < kBlock ? length - first : kBlock;
        load(at(in, offsets[0] + first * rows.stride(0)), rows.stride(0), block, 1, n);
        for (int64_t i = 0; i < n; ++i) {
          const C x = block[i];
          if (first + i == 0 || x != x || Better{}(x, best)) {
            best = x;
            index = first + i;
          }
          block[i] = best;
          positions[i] = index;
        }
        store_value(block, 1, at(values, offsets[1] + first * rows.stride(1)), rows.stride(1), n);
        store_index(positions, 1, at(indices, offsets[2] + first * rows.stride(2)), rows.stride(2), n);
      }
    });
  });
}

}  // namespace rushlight
