#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void transpose_copy_int_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim0, int64_t dim1, Tensor& out) {
  int64_t a, b;
  if (!normalize_dim(context, dim0, in.dim(), &a) || !normalize_dim(context, dim1, in.dim(), &b)) return;
  if (!require_same_dtype(context, in, out)) return;
  const auto source = [&](int64_t axis) { return axis == a ? b : axis == b ? a : axis; };
  Shape shape;
  for (int64_t i = 0; i < in.dim(); ++i) shape.push(in.size(source(i)));
  if (!resize_out(context, out, shape.span())) return;
  StridedLoops loops;
  for (int64_t i = 0; i < out.dim(); ++i) loops.add(out.size(i), in.stride(source(i)), out.stride(i));
  strided_copy(context, loops, in.const_data_ptr(), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
