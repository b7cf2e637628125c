#include <algorithm>

#include "kernels/portable/index.h"
#include "kernels/shared/accumulator.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/index_reader.h"
#include "kernels/shared/row_major.h"

namespace rushlight::portable {

void embedding_dense_backward_out(KernelRuntimeContext& context, const Tensor& grad_output, const Tensor& indices,
                                  int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq, Tensor& out) {
  bool fits = grad_output.dim() == indices.dim() + 1;
  for (int64_t i = 0; fits && i < indices.dim(); ++i) fits = grad_output.size(i) == indices.size(i);
  RL_KERNEL_REQUIRE(context, fits, InvalidArgument, "the shape of grad_output does not match the indices");
  const int64_t width = grad_output.size(indices.dim());
  if (!require_indices(context, indices, 0, num_weights) || !require_same_dtype(context, grad_output, out)) return;
  if (!resize_out(context, out, {num_weights, width})) return;
  fill_tensor(context, out, 0);
  const RowMajorInput gradient(context, grad_output), positions(context, indices);
  int32_t* counts = context.allocate_temporary_array<int32_t>(static_cast<size_t>(num_weights) + 1);
  if (context.failed()) return;
  const IndexReader rows = indices.scalar_type() == ScalarType::Long ? IndexReader(positions.data<int64_t>())
                                                                     : IndexReader(positions.data<int32_t>());
  std::fill(counts, counts + num_weights, 0);
  for (int64_t i = 0; i < indices.numel(); ++i) ++counts[rows[i]];
  switch_dtype<dtypes::kFloatH>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Number = AccumulatorOf<T>;
    const T* from = gradient.data<T>();
    for (int64_t i = 0; i < indices.numel(); ++i, from += width) {
      const int64_t row = rows[i];
      if (row == padding_idx) continue;
      const Number scale = scale_grad_by_freq ? Number(1) / static_cast<Number>(counts[row]) : Number(1);
      T* to = out.mutable_data_ptr<T>() + row * out.stride(0);
      for (int64_t j = 0; j < width; ++j) {
        T& sum = to[j * out.stride(1)];
        sum = static_cast<T>(static_cast<Number>(sum) + scale * static_cast<Number>(from[j]));
      }
    }
  });
}

}  // namespace rushlight::portable
