#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void roll_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> shifts, Span<const int64_t> dims,
              Tensor& out) {
  RL_KERNEL_REQUIRE(context, shifts.size() == (dims.empty() ? 1 : dims.size()), InvalidArgument,
                    "%zu shifts do not match %zu dims", shifts.size(), dims.size());
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, in.sizes()) || in.numel() == 0) return;
  if (dims.empty()) {
    const int64_t shift = (shifts[0] % in.numel() + in.numel()) % in.numel();
    copy_row_major(context, in, 0, out, shift, in.numel() - shift);
    copy_row_major(context, in, in.numel() - shift, out, 0, shift);
    return;
  }
  int64_t by[kMaxDim] = {};
  int64_t rolled[kMaxDim];
  int count = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t axis;
    if (!normalize_dim(context, dims[i], in.dim(), &axis)) return;
    const int64_t length = size_at(in, axis);
    by[axis] = ((by[axis] + shifts[i] % length) % length + length) % length;
  }
  for (int64_t axis = 0; axis < in.dim(); ++axis) {
    if (by[axis] != 0) rolled[count++] = axis;
  }
  // Each rolled axis has two parts. Each combination of parts is one copy.
  for (uint32_t choice = 0; choice < 1u << count; ++choice) {
    int64_t from = 0, to = 0;
    int64_t lengths[kMaxDim];
    for (int64_t axis = 0; axis < in.dim(); ++axis) lengths[axis] = in.size(axis);
    for (int k = 0; k < count; ++k) {
      const int64_t axis = rolled[k];
      const bool wrapped = (choice >> k & 1u) != 0;
      const int64_t rest = in.size(axis) - by[axis];
      lengths[axis] = wrapped ? by[axis] : rest;
      if (wrapped) {
        from += rest * in.stride(axis);
      } else {
        to += by[axis] * out.stride(axis);
      }
    }
    StridedLoops loops;
    for (int64_t axis = 0; axis < in.dim(); ++axis) loops.add(lengths[axis], in.stride(axis), out.stride(axis));
    strided_copy(context, loops, at(in, from), at(out, to), in.element_size());
  }
}

}  // namespace rushlight::portable
