#pragma once

#include "kernels/shared/scan.h"

namespace rushlight {

// The scan of the rows of three tensors: the input, and the best elements so far with their positions. Better{}(x,
// best) returns whether x replaces `best`. C is the compute type of the elements.
template <typename C, typename Better>
class ExtremeScan {
 public:
  ExtremeScan(const Tensor& in, const Tensor& values, const Tensor& indices, const Rows& rows)
      : in_(in), values_(values), indices_(indices), rows_(rows) {}

  // Scans n adjacent columns of a matrix at the same time. `offsets` are those of their first elements.
  void scan_columns(const int64_t* offsets, int64_t n) const {
    C block[kColumns], best[kColumns];
    int64_t index[kColumns];
    for (int64_t i = 0; i < rows_.length(0); ++i) {
      load_(at(in_, offsets[0] + i * rows_.stride(0)), 1, block, 1, n);
      for (int64_t j = 0; j < n; ++j) {
        const C x = block[j];
        const bool replaces = i == 0 || x != x || Better{}(x, best[j]);
        best[j] = replaces ? x : best[j];
        index[j] = replaces ? i : index[j];
      }
      store_value_(best, 1, at(values_, offsets[1] + i * rows_.stride(1)), 1, n);
      store_index_(index, 1, at(indices_, offsets[2] + i * rows_.stride(2)), 1, n);
    }
  }

  void scan_row(const int64_t* offsets) const {
    constexpr int64_t kBlock = 128;
    const int64_t length = rows_.length(0);
    C block[kBlock];
    int64_t positions[kBlock];
    C best{};
    int64_t index = 0;
    for (int64_t first = 0; first < length; first += kBlock) {
      const int64_t n = length - first < kBlock ? length - first : kBlock;
      load_(at(in_, offsets[0] + first * rows_.stride(0)), rows_.stride(0), block, 1, n);
      for (int64_t i = 0; i < n; ++i) {
        const C x = block[i];
        if (first + i == 0 || x != x || Better{}(x, best)) {
          best = x;
          index = first + i;
        }
        block[i] = best;
        positions[i] = index;
      }
      store_value_(block, 1, at(values_, offsets[1] + first * rows_.stride(1)), rows_.stride(1), n);
      store_index_(positions, 1, at(indices_, offsets[2] + first * rows_.stride(2)), rows_.stride(2), n);
    }
  }

  static constexpr int64_t kColumns = 256;  // the most columns that are scanned at the same time

 private:
  const Tensor &in_, &values_, &indices_;
  const Rows& rows_;
  const Convert load_ = load_function(in_.scalar_type(), scalar_type_of<C>);
  const Convert store_value_ = store_function(scalar_type_of<C>, values_.scalar_type());
  const Convert store_index_ = store_function(ScalarType::Long, indices_.scalar_type());
};

// Computes the best element so far along `dim`, and its last position. After a NaN, the result stays NaN.
template <typename Better>
void scan_extreme(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& values, Tensor& indices) {
  int64_t axis;
  if (!prepare_scan(context, in, dim, values, &axis) || !resize_out_like(context, indices, in)) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using Scan = ExtremeScan<typename decltype(tag)::type, Better>;
    const Rows rows({in, values, indices}, axis);
    const Scan scan(in, values, indices, rows);
    if (rows.adjacent() && rows.stride(0) != 1) {
      rows.for_each_run(context, Scan::kColumns,
                        [&](const int64_t* offsets, int64_t n) { scan.scan_columns(offsets, n); });
    } else {
      rows.for_each(context, [&](const int64_t* offsets) { scan.scan_row(offsets); });
    }
  });
}

}  // namespace rushlight
