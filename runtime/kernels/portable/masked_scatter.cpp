#include "kernels/portable/index.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/row_major.h"

namespace rushlight::portable {

void masked_scatter_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& mask, const Tensor& source,
                        Tensor& out) {
  RL_KERNEL_REQUIRE(context, mask.scalar_type() == ScalarType::Bool, InvalidArgument, "the mask is %s, not bool",
                    dtype_name(mask.scalar_type()));
  Shape shape(in.sizes());
  if (!require_same_dtype(context, in, out) || !require_same_dtype(context, in, source)) return;
  if (!broadcast_shape(context, shape, mask.sizes()) || !resize_out(context, out, shape.span())) return;
  convert_copy(context, in, out);
  LoopNest nest = LoopNest::over(shape.span());
  nest.add(out);
  nest.add(mask);
  nest.collapse();
  const RowMajorInput values(context, source);
  if (context.failed()) return;
  const uint8_t* selected = mask.const_data_ptr<uint8_t>();
  const int64_t out_step = nest.inner_stride(0), mask_step = nest.inner_stride(1);
  bool enough = true;
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = values.data<T>();
    const T* end = from + source.numel();
    T* to = out.mutable_data_ptr<T>();
    for_each_row(nest, 0, nest.numel(), [&](const int64_t* offsets, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        if (selected[offsets[1] + i * mask_step] == 0) continue;
        enough = enough && from != end;
        if (enough) to[offsets[0] + i * out_step] = *from++;
      }
    });
  });
  RL_KERNEL_REQUIRE(context, enough, InvalidArgument,
                    "the mask selects more elements than the source has (%lld elements)",
                    static_cast<long long>(source.numel()));
}

}  // namespace rushlight::portable
