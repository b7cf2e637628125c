#include <algorithm>

#include "kernels/portable/index.h"
#include "kernels/shared/accumulator.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/embedding_bags.h"

namespace rushlight::portable {
namespace {

// Columns of results that a bag computes at a time: they stay in registers or in the first-level cache.
constexpr int64_t kColumns = 64;

// One bag: the rows of `weight` whose indices are rows[begin, end), without the index `padding`.
template <typename T>
struct Bag {
  using Number = AccumulatorOf<T>;

  const Tensor& weight;
  const IndexReader& rows;
  int64_t begin, end, padding;
  const T* scales;  // a factor for each row, or null

  // Calls function(row, pointer to column `first` of the row, position in the bag).
  template <typename F>
  void for_rows(int64_t first, F function) const {
    const T* const columns = weight.const_data_ptr<T>() + first * weight.stride(1);
    for (int64_t i = begin; i < end; ++i) {
      if (rows[i] != padding) function(rows[i], columns + rows[i] * weight.stride(0), i - begin);
    }
  }

  void sum_weight_rows(int64_t first, int64_t columns, Number* sums) const {
    std::fill_n(sums, columns, Number{0});
    for_rows(first, [&](int64_t, const T* from, int64_t i) {
      if (weight.stride(1) == 1 && columns == kColumns) {
        add(from, 1, kColumns, i, sums);
      } else {
        add(from, weight.stride(1), columns, i, sums);
      }
    });
  }

  template <typename F>
  void find_maxima(int64_t first, int64_t columns, Number* maximum, F set_row) const {
    std::fill_n(maximum, columns, Number{0});
    bool is_empty = true;
    for_rows(first, [&](int64_t row, const T* from, int64_t) {
      for (int64_t c = 0; c < columns; ++c) {
        const Number value = static_cast<Number>(from[c * weight.stride(1)]);
        if (!is_empty && !(value > maximum[c])) continue;
        maximum[c] = value;
        set_row(c, row);
      }
      is_empty = false;
    });
  }

 private:
  [[gnu::always_inline]] void add(const T* from, int64_t step, int64_t columns, int64_t i, Number* sums) const {
    if (scales) {
      const Number scale = static_cast<Number>(scales[i]);
      for (int64_t c = 0; c < columns; ++c) sums[c] += static_cast<Number>(from[c * step]) * scale;
    } else {
      for (int64_t c = 0; c < columns; ++c) sums[c] += static_cast<Number>(from[c * step]);
    }
  }
};

}  // namespace

// Writes `out` [bags, width]. The other results are for the backward pass: offset2bag may be empty, and max_indices is
// [bags, width] for mode max.
void embedding_bag_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& indices,
                       const Tensor& offsets, bool scale_grad_by_freq, int64_t mode, bool sparse,
                       const std::optional<Tensor>& per_sample_weights, bool include_last_offset, int64_t padding_idx,
                       Tensor& out, Tensor& offset2bag, Tensor& bag_size, Tensor& max_indices) {
  (void)scale_grad_by_freq;
  (void)sparse;
  const EmbeddingBags bags{weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx};
  begin_embedding_bag(context, bags, out, offset2bag, bag_size, max_indices);
  if (context.failed()) return;
  const int64_t width = weight.size(1);
  const IndexReader rows(indices);
  switch_dtype<dtypes::kFloatH>(context, weight.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Number = AccumulatorOf<T>;
    const T* scales = per_sample_weights ? per_sample_weights->const_data_ptr<T>() : nullptr;
    for (int64_t bag = 0; bag < bags.count(); ++bag) {
      const int64_t begin = bags.begin(bag), count = mode == kBagMean ? bags.size(bag) : 0;
      const Bag<T> current_bag{weight, rows, begin, bags.end(bag), padding_idx, scales ? scales + begin : nullptr};
      for (int64_t j = 0; j < width; j += kColumns) {
        const int64_t columns = std::min(kColumns, width - j);
        Number results[kColumns];
        if (mode == kBagMax) {
          current_bag.find_maxima(j, columns, results, [&](int64_t column, int64_t row) {
            put_position(max_indices, bag * max_indices.stride(0) + (j + column) * max_indices.stride(1), row);
          });
        } else {
          current_bag.sum_weight_rows(j, columns, results);
        }
        const Number divisor = static_cast<Number>(count > 0 ? count : 1);
        T* const to = out.mutable_data_ptr<T>() + bag * out.stride(0) + j * out.stride(1);
        for (int64_t c = 0; c < columns; ++c) to[c * out.stride(1)] = static_cast<T>(results[c] / divisor);
      }
    }
  });
}

}  // namespace rushlight::portable
