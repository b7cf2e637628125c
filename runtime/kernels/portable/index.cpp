#include "kernels/portable/index.h"

#include "kernels/shared/advanced_index.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"

namespace rushlight::portable {

void index_Tensor_out(KernelRuntimeContext& context, const Tensor& in, Span<const std::optional<Tensor>> indices,
                      Tensor& out) {
  AdvancedIndex index;
  if (!require_same_dtype(context, in, out) || !index.read(context, in, indices)) return;
  if (!resize_out(context, out, index.shape().span()) || out.numel() == 0) return;
  int64_t strides[kMaxDim];
  for (int64_t i = 0; i < out.dim(); ++i) strides[i] = out.stride(i);
  const StridedLoops block = index.block(strides);
  const int64_t size = block.numel();
  context.parallel_for(0, index.positions(), 16384 / (size + 1) + 1, [&](int64_t begin, int64_t end) {
    if (size == 1) {
      switch_element_size(context, in.element_size(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        index.for_each(strides, begin, end,
                       [&](int64_t from, int64_t to) { out.mutable_data_ptr<T>()[to] = in.const_data_ptr<T>()[from]; });
      });
      return;
    }
    index.for_each(strides, begin, end, [&](int64_t from, int64_t to) {
      strided_copy(context, block, at(in, from), at(out, to), in.element_size());
    });
  });
}

}  // namespace rushlight::portable
