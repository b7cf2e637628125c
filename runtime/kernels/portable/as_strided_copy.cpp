#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::portable {

void as_strided_copy_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes,
                         Span<const int64_t> strides, std::optional<int64_t> storage_offset, Tensor& out) {
  RL_KERNEL_REQUIRE(context, sizes.size() == strides.size() && sizes.size() <= kMaxDim, InvalidArgument,
                    "%zu sizes do not suit %zu strides", sizes.size(), strides.size());
  const int64_t offset = storage_offset.value_or(0);
  Shape shape;
  bool empty = false;
  for (const int64_t size : sizes) {
    shape.push(size);
    empty = empty || size == 0;
  }
  // The last element must lie in the storage, which has as many elements as the tensor.
  bool inside = offset >= 0 && (empty || offset < in.numel());
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size() && inside && !empty; ++i) {
    inside = strides[i] >= 0 && (sizes[i] == 1 || strides[i] < in.numel());
    if (inside && sizes[i] > 1) {
      inside = strides[i] == 0 || sizes[i] - 1 <= (in.numel() - 1 - last) / strides[i];
      if (inside) last += (sizes[i] - 1) * strides[i];
    }
  }
  RL_KERNEL_REQUIRE(context, inside, InvalidArgument, "the strided view leaves the storage of %lld elements",
                    static_cast<long long>(in.numel()));
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span()) || empty) return;
  StridedLoops loops;
  for (int64_t i = 0; i < out.dim(); ++i) loops.add(out.size(i), strides[i], out.stride(i));
  strided_copy(context, loops, at(in, offset), out.mutable_data_ptr(), in.element_size());
}

}  // namespace rushlight::portable
