#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"
#include "kernels/shared/strided_window.h"

namespace rushlight::portable {

void as_strided_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes,
                         Span<const int64_t> strides, std::optional<int64_t> storage_offset, Tensor& out) {
  Shape shape;
  int64_t first;
  if (!read_strided_window(context, in, sizes, strides, storage_offset, &shape, &first)) return;
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < out.dim(); ++i) loops.add(out.size(i), strides[static_cast<size_t>(i)], out.stride(i));
  strided_copy(context, loops, at(in, first), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
