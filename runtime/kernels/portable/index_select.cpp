#include <algorithm>

#include "kernels/portable/index.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/gather_loop.h"
#include "kernels/shared/row_copy.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {
namespace {

constexpr int64_t kMaxColumns = 32;   // rows with more elements are not copied column by column
constexpr int64_t kMinRunBytes = 64;  // slices with shorter contiguous runs are copied element by element

// Selects elements of short rows, the innermost loop of a nest over the index, `out` and `in`. Copies one column of
// many rows at a time.
template <typename T>
void select_columns(KernelRuntimeContext& context, const LoopNest& nest, const IndexReader& positions, int64_t step,
                    const Tensor& in, const Tensor& out) {
  constexpr int64_t kRows = 512;
  const int64_t columns = nest.inner_size(), to_step = nest.inner_stride(1);
  LoopNest rows = nest;
  --rows.dim;
  rows.collapse();
  const int64_t from_stride = rows.inner_stride(2), to_stride = rows.inner_stride(1);
  context.parallel_for(0, rows.numel(), 8192 / columns + 1, [&](int64_t begin, int64_t end) {
    for_each_row(rows, begin, end, [&](const int64_t* offsets, int64_t count) {
      for (int64_t first = 0; first < count; first += kRows) {
        const int64_t n = std::min(kRows, count - first);
        for (int64_t j = 0; j < columns; ++j) {
          const T* const from = in.const_data_ptr<T>() + offsets[2] + first * from_stride + positions[j] * step;
          T* const to = out.mutable_data_ptr<T>() + offsets[1] + first * to_stride + j * to_step;
          for (int64_t r = 0; r < n; ++r) to[r * to_stride] = from[r * from_stride];
        }
      }
    });
  });
}

}  // namespace

void index_select_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, Tensor& out) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !require_same_dtype(context, in, out)) return;
  RL_KERNEL_REQUIRE(context, index.dim() <= 1, InvalidArgument, "the index has rank %lld, not 0 or 1",
                    static_cast<long long>(index.dim()));
  if (!require_indices(context, index, 0, size_at(in, axis))) return;
  Shape shape(in.sizes());
  if (in.dim() > 0) shape.set(axis, index.numel());
  RL_KERNEL_REQUIRE(context, in.dim() > 0 || index.numel() == 1, InvalidArgument,
                    "one element is selected from a zero-dim tensor, not %lld", static_cast<long long>(index.numel()));
  if (!resize_out(context, out, shape.span()) || out.numel() == 0) return;
  StridedLoops slice;  // over one slice of `in` and of `out`
  LoopNest nest;       // over the index, `out` and `in`
  for (int64_t i = 0; i < in.dim(); ++i) {
    if (i != axis) slice.add(in.size(i), in.stride(i), out.stride(i));
    nest.push(out.size(i), {i == axis ? 1 : 0, out.stride(i), i == axis ? 0 : in.stride(i)});
  }
  if (in.dim() == 0) nest.operands = 3;
  const IndexReader positions(index);
  const int64_t from = stride_at(in, axis), to = stride_at(out, axis);
  const size_t size = in.element_size();
  slice.normalize();
  const auto& run = slice[slice.count() - 1];
  if (run.src == 1 && run.dst == 1 && run.size * static_cast<int64_t>(size) >= kMinRunBytes) {
    context.parallel_for(0, index.numel(), 16384 / slice.numel() + 1, [&](int64_t begin, int64_t end) {
      if (slice.count() == 1) {
        copy_rows(
            begin, end, static_cast<size_t>(run.size) * size, [&](int64_t i) { return at(in, positions[i] * from); },
            [&](int64_t i) { return at(out, i * to); });
        return;
      }
      for (int64_t i = begin; i < end; ++i) {
        strided_copy(context, slice, at(in, positions[i] * from), at(out, i * to), size);
      }
    });
    return;
  }
  nest.sort_by(1);
  nest.collapse();
  const bool selects_columns = nest.dim > 0 && nest.inner_stride(0) == 1 && nest.inner_size() <= kMaxColumns;
  switch_element_size(context, size, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (selects_columns) return select_columns<T>(context, nest, positions, from, in, out);
    const T* const source = in.const_data_ptr<T>();
    T* const target = out.mutable_data_ptr<T>();
    context.parallel_for(0, out.numel(), 8192, [&](int64_t begin, int64_t end) {
      for_each_gathered(nest, index, from, begin, end,
                        [source, target](int64_t write, int64_t read) { target[write] = source[read]; });
    });
  });
}

}  // namespace rushlight::portable
