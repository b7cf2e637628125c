#include <atomic>

#include "kernels/portable/index.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/gather_loop.h"

namespace rushlight::portable {
namespace {

// Gathers elements of contiguous rows. The positions are checked block by block, while they are in the cache. Returns
// false if a position is out of bounds.
template <typename T, typename Index>
bool gather_rows(KernelRuntimeContext& context, const LoopNest& nest, const Index* positions, int64_t size,
                 int64_t stride, const T* from, T* to) {
  constexpr int64_t kBlock = 1024;
  std::atomic<bool> fit{true};
  const int64_t step = nest.inner_stride(2);
  context.parallel_for(0, nest.numel(), 8192, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* offsets, int64_t length) {
      for (int64_t first = 0; first < length; first += kBlock) {
        const int64_t n = length - first < kBlock ? length - first : kBlock;
        const Index* const position = positions + offsets[0] + first;
        if (!indices_fit(position, n, 0, size)) {
          fit = false;
          return;
        }
        const T* const row = from + offsets[2] + first * step;
        T* const target = to + offsets[1] + first;
        if (step == 0 && stride == 1) {
          for (int64_t i = 0; i < n; ++i) target[i] = row[position[i]];
        } else {
          for (int64_t i = 0; i < n; ++i) target[i] = row[i * step + position[i] * stride];
        }
      }
    });
  });
  return fit;
}

}  // namespace

void gather_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, bool sparse_grad,
                Tensor& out) {
  (void)sparse_grad;
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !require_same_dtype(context, in, out)) return;
  if (!require_gather_shapes(context, in, axis, index, in)) return;
  if (!resize_out(context, out, index.sizes())) return;
  if (out.numel() == 0) return;
  LoopNest nest = gather_loops(index, out, in, axis);
  nest.sort_by(1);
  nest.collapse();
  if (index.scalar_type() == ScalarType::Long && nest.inner_stride(0) == 1 && nest.inner_stride(1) == 1) {
    bool fit = true;
    switch_element_size(context, in.element_size(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      fit = gather_rows(context, nest, index.const_data_ptr<int64_t>(), size_at(in, axis), stride_at(in, axis),
                        in.const_data_ptr<T>(), out.mutable_data_ptr<T>());
    });
    if (!fit) require_indices(context, index, 0, size_at(in, axis));
    return;
  }
  if (!require_indices(context, index, 0, size_at(in, axis))) return;
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.const_data_ptr<T>();
    T* to = out.mutable_data_ptr<T>();
    context.parallel_for(0, index.numel(), 8192, [&](int64_t begin, int64_t end) {
      for_each_gathered(nest, index, stride_at(in, axis), begin, end,
                        [to, from](int64_t along, int64_t indexed) { to[along] = from[indexed]; });
    });
  });
}

}  // namespace rushlight::portable
