#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void diagonal_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t offset, int64_t dim1, int64_t dim2,
                       Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() >= 2, InvalidArgument, "diagonal needs a tensor of rank 2 or more, not %lld",
                    static_cast<long long>(in.dim()));
  int64_t a, b;
  if (!normalize_dim(context, dim1, in.dim(), &a) || !normalize_dim(context, dim2, in.dim(), &b)) return;
  if (!require_same_dtype(context, in, out)) return;
  RL_KERNEL_REQUIRE(context, a != b, InvalidArgument, "the dims of a diagonal must differ");
  const int64_t below = offset < 0 ? -offset : 0;
  const int64_t right = offset > 0 ? offset : 0;
  int64_t length = 0;
  if (below < in.size(a) && right < in.size(b)) {
    length = in.size(a) - below < in.size(b) - right ? in.size(a) - below : in.size(b) - right;
  }
  Shape shape;
  StridedLoops loops;
  for (int64_t i = 0; i < in.dim(); ++i) {
    if (i != a && i != b) shape.push(in.size(i));
  }
  shape.push(length);
  if (!resize_out(context, out, shape.span()) || out.numel() == 0) return;
  int64_t axis = 0;
  for (int64_t i = 0; i < in.dim(); ++i) {
    if (i == a || i == b) continue;
    loops.add(in.size(i), in.stride(i), out.stride(axis));
    ++axis;
  }
  loops.add(length, static_cast<int64_t>(in.stride(a)) + in.stride(b), out.stride(axis));
  strided_copy(context, loops, at(in, below * in.stride(a) + right * in.stride(b)), out.mutable_data_ptr(),
               in.element_size());
}

}  // namespace rushlight::portable
