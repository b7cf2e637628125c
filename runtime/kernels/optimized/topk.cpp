#include <algorithm>
#include <functional>
#include <new>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/largest.h"
#include "kernels/shared/shape.h"
#include "microkernels/tables/f32.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

namespace {

using Item = Indexed<float>;

// Selects the top k of one row after another. An integer key for each element has the order of the elements; the
// largest keys are selected. It owns its scratch memory.
class Selection {
 public:
  // Allocates memory for rows of n elements, and with `copies` a buffer for such a row. If there is none, records the
  // failure and returns false.
  bool prepare(KernelRuntimeContext& context, int64_t n, int64_t k, bool largest, bool sorted, bool copies) {
    const size_t size = static_cast<size_t>(n);
    n_ = n, k_ = k, largest_ = largest, sorted_ = sorted;
    const int64_t width = kernels_.width, groups = (2 * k + width - 1) / width * width;
    groups_ = 4 * groups <= n ? groups : 0;
    items_ = context.allocate_temporary_array<Item>(size);
    packed_ = context.allocate_temporary_array<uint64_t>(size);
    keys_ = context.allocate_temporary_array<int32_t>(size);
    positions_ = context.allocate_temporary_array<int32_t>(size);
    row_ = copies ? context.allocate_temporary_array<float>(size) : nullptr;
    return !context.failed();
  }

  // Returns the buffer for a row, or null.
  float* row() const { return row_; }

  // Returns the items of the k largest, or smallest, elements of x[n].
  const Item* select(const float* x) {
    kernels_.order_keys(largest_, x, n_, groups_, keys_, positions_);
    int64_t count = n_;
    if (groups_ > 0) {
      // At least k groups have an element whose key is not below the k-th largest maximum of the groups.
      std::nth_element(positions_, positions_ + k_ - 1, positions_ + groups_, std::greater<int32_t>());
      count = kernels_.find_keys(keys_, n_, positions_[k_ - 1], positions_);
      for (int64_t i = 0; i < count; ++i) packed_[i] = pack(keys_[positions_[i]], positions_[i]);
    } else {
      for (int64_t i = 0; i < n_; ++i) packed_[i] = pack(keys_[i], i);
    }
    // Item k + 1 is also sorted, because it shows whether the first k items are unique.
    const int64_t end = std::min(count, k_ + 1);
    if (end < count) std::nth_element(packed_, packed_ + end - 1, packed_ + count, std::greater<uint64_t>());
    std::sort(packed_, packed_ + end, std::greater<uint64_t>());
    for (int64_t i = 1; i < end; ++i) {
      if (packed_[i - 1] >> 32 == packed_[i] >> 32) return select_as_eager(x);
    }
    for (int64_t i = 0; i < k_; ++i) {
      const int64_t position = static_cast<int64_t>(~packed_[i] & 0xffffffff);
      items_[i] = {x[position], position};
    }
    return items_;
  }

 private:
  // Packed items are ordered by their keys and, if keys are equal, by their positions.
  static uint64_t pack(int32_t key, int64_t position) {
    const uint32_t high = static_cast<uint32_t>(key) ^ 0x80000000u;
    return uint64_t{high} << 32 | (~static_cast<uint64_t>(position) & 0xffffffff);
  }

  // Selects equal elements in the order of eager PyTorch.
  const Item* select_as_eager(const float* x) {
    for (int64_t i = 0; i < n_; ++i) items_[i] = {x[i], i};
    select_first(items_, n_, k_, largest_, sorted_);
    return items_;
  }

  const microkernels::F32Microkernels& kernels_ = microkernels::f32_microkernels();
  int64_t n_ = 0, k_ = 0;
  int64_t groups_ = 0;  // the number of groups of elements whose largest keys are computed; 0 for short rows
  bool largest_ = true, sorted_ = true;
  Item* items_ = nullptr;         // [n]
  uint64_t* packed_ = nullptr;    // [n] keys with their positions; see pack()
  int32_t* keys_ = nullptr;       // [n]
  int32_t* positions_ = nullptr;  // [n]: first the largest keys of the groups, then the positions of large keys
  float* row_ = nullptr;          // [n] or null
};

bool are_supported(const Tensor& in, const Tensor& values, const Tensor& indices) {
  const bool has_dtype = is_float(in) || dtypes::kHalf.contains(in.scalar_type());
  return has_dtype && values.scalar_type() == in.scalar_type() && indices.scalar_type() == ScalarType::Long &&
         in.dim() > 0 && is_row_major(in);
}

}  // namespace

// Supports rows of floats of any length.
bool topk_values(KernelRuntimeContext& context, const Tensor& in, int64_t k, int64_t dim, bool largest, bool sorted,
                 Tensor& values, Tensor& indices) {
  if (!are_supported(in, values, indices)) return false;
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return true;
  const int64_t n = in.size(axis);
  if (k <= 0 || k > n || n > INT32_MAX) return false;
  Shape shape(in.sizes());
  shape.set(axis, k);
  if (!resize_out(context, values, shape.span()) || !resize_out(context, indices, shape.span())) return true;
  if (!is_row_major(values) || !is_row_major(indices)) return false;
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < in.dim(); ++d) inner *= in.size(d);
  const int64_t rows = in.numel() / n;
  if (rows == 0) return true;
  constexpr int64_t kGrain = 4096;
  const int64_t workers = std::min(rows, in.numel() < kGrain ? 1 : microkernels::worker_count(context));
  const bool copies = !is_float(in) || inner > 1;
  Selection* const selections = context.allocate_temporary_array<Selection>(static_cast<size_t>(workers));
  if (!selections) return true;
  for (int64_t w = 0; w < workers; ++w) {
    new (selections + w) Selection;
    if (!selections[w].prepare(context, n, k, largest, sorted, copies)) return true;
  }
  const Convert load = load_function(in.scalar_type(), ScalarType::Float);
  const Convert store = store_function(ScalarType::Float, in.scalar_type());
  int64_t* const to = indices.mutable_data_ptr<int64_t>();
  microkernels::for_workers(context, workers, rows, [&](int64_t worker, int64_t begin, int64_t end) {
    Selection& selection = selections[worker];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / inner * n * inner + i % inner, out = i / inner * k * inner + i % inner;
      const float* x = selection.row();
      if (copies) {
        load(at(in, first), inner, selection.row(), 1, n);
      } else {
        x = in.const_data_ptr<float>() + first;
      }
      const Item* const items = selection.select(x);
      store(items, sizeof(Item) / sizeof(float), at(values, out), inner, k);
      for (int64_t j = 0; j < k; ++j) to[out + j * inner] = items[j].index;
    }
  });
  return true;
}

}  // namespace rushlight::optimized
