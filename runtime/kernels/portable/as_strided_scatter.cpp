#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"
#include "kernels/shared/strided_window.h"

namespace rushlight::portable {

void as_strided_scatter_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& src,
                            Span<const int64_t> sizes, Span<const int64_t> strides,
                            std::optional<int64_t> storage_offset, Tensor& out) {
  Shape shape;
  int64_t first;
  if (!read_strided_window(context, in, sizes, strides, storage_offset, &shape, &first)) return;
  if (!require_same_dtype(context, in, src) || !require_same_dtype(context, in, out)) return;
  if (!require_shape(context, "src", src, shape) || !resize_out(context, out, in.sizes())) return;
  RL_KERNEL_REQUIRE(context, same_layout(in, out), NotSupported,
                    "the input and out of as_strided_scatter must have the same dim order");
  copy_elements(context, in, out);
  StridedLoops loops;
  for (int64_t i = 0; i < src.dim(); ++i) {
    RL_KERNEL_REQUIRE(context, strides[static_cast<size_t>(i)] != 0 || src.size(i) == 1, InvalidArgument,
                      "as_strided_scatter cannot write to a strided view with stride 0");
    loops.add(src.size(i), src.stride(i), strides[static_cast<size_t>(i)]);
  }
  strided_copy(context, loops, src.const_data_ptr(), at(out, first), in.element_size());
}

}  // namespace rushlight::portable
