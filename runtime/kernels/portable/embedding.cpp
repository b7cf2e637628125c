#include "kernels/portable/index.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/index_reader.h"
#include "kernels/shared/row_copy.h"
#include "kernels/shared/row_major.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void embedding_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& indices, int64_t padding_idx,
                   bool scale_grad_by_freq, bool sparse, Tensor& out) {
  (void)padding_idx;
  (void)scale_grad_by_freq;
  (void)sparse;
  RL_KERNEL_REQUIRE(context, weight.dim() == 2, InvalidArgument, "the weight has rank %lld, not 2",
                    static_cast<long long>(weight.dim()));
  if (!require_same_dtype(context, weight, out) || !require_indices(context, indices, 0, weight.size(0))) return;
  Shape shape(indices.sizes());
  shape.push(weight.size(1));
  if (!resize_out(context, out, shape.span())) return;
  const RowMajorInput source(context, indices);
  RowMajorOutput target(context, out);
  if (context.failed()) return;
  const IndexReader rows = indices.scalar_type() == ScalarType::Long ? IndexReader(source.data<int64_t>())
                                                                     : IndexReader(source.data<int32_t>());
  const int64_t width = weight.size(1);
  const size_t row_bytes = static_cast<size_t>(width) * weight.element_size();
  StridedLoops row;
  row.add(width, weight.stride(1), 1);
  context.parallel_for(0, indices.numel(), 16384 / (width + 1) + 1, [&](int64_t begin, int64_t end) {
    const auto from = [&](int64_t i) { return at(weight, rows[i] * weight.stride(0)); };
    const auto to = [&](int64_t i) { return target.data<uint8_t>() + static_cast<size_t>(i) * row_bytes; };
    if (weight.stride(1) == 1) return copy_rows(begin, end, row_bytes, from, to);
    for (int64_t i = begin; i < end; ++i) strided_copy(context, row, from(i), to(i), weight.element_size());
  });
  target.finish();
}

}  // namespace rushlight::portable
