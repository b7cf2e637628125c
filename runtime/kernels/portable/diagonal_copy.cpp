#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/diagonal.h"

namespace rushlight::portable {

void diagonal_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t offset, int64_t dim1, int64_t dim2,
                       Tensor& out) {
  Diagonal diagonal;
  if (!read_diagonal(context, in, offset, dim1, dim2, &diagonal) || !require_same_dtype(context, in, out)) return;
  if (!resize_out(context, out, diagonal.shape.span()) || out.numel() == 0) return;
  StridedLoops loops;
  int64_t axis = 0;
  for (int64_t i = 0; i < in.dim(); ++i) {
    if (i == diagonal.row_axis || i == diagonal.column_axis) continue;
    loops.add(in.size(i), in.stride(i), out.stride(axis));
    ++axis;
  }
  loops.add(diagonal.length, static_cast<int64_t>(in.stride(diagonal.row_axis)) + in.stride(diagonal.column_axis),
            out.stride(axis));
  const int64_t first = diagonal.row * in.stride(diagonal.row_axis) + diagonal.column * in.stride(diagonal.column_axis);
  strided_copy(context, loops, at(in, first), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
