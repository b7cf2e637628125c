#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/diagonal.h"

namespace rushlight::portable {

void diagonal_scatter_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& src, int64_t offset,
                          int64_t dim1, int64_t dim2, Tensor& out) {
  Diagonal diagonal;
  if (!read_diagonal(context, in, offset, dim1, dim2, &diagonal)) return;
  if (!require_same_dtype(context, in, src) || !require_same_dtype(context, in, out)) return;
  if (!require_shape(context, "src", src, diagonal.shape) || !resize_out(context, out, in.sizes())) return;
  copy_elements(context, in, out);
  if (src.numel() == 0) return;
  StridedLoops loops;
  int64_t axis = 0;
  for (int64_t i = 0; i < in.dim(); ++i) {
    if (i == diagonal.row_axis || i == diagonal.column_axis) continue;
    loops.add(in.size(i), src.stride(axis), out.stride(i));
    ++axis;
  }
  loops.add(diagonal.length, src.stride(axis),
            static_cast<int64_t>(out.stride(diagonal.row_axis)) + out.stride(diagonal.column_axis));
  const int64_t first =
      diagonal.row * out.stride(diagonal.row_axis) + diagonal.column * out.stride(diagonal.column_axis);
  strided_copy(context, loops, src.const_data_ptr(), at(out, first), in.element_size());
}

}  // namespace rushlight::portable
