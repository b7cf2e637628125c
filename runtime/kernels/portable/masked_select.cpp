#include "kernels/portable/index.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/loop_nest.h"

namespace rushlight::portable {

void masked_select_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& mask, Tensor& out) {
  RL_KERNEL_REQUIRE(context, mask.scalar_type() == ScalarType::Bool, InvalidArgument, "the mask is %s, not bool",
                    dtype_name(mask.scalar_type()));
  Shape shape(in.sizes());
  if (!require_same_dtype(context, in, out) || !broadcast_shape(context, shape, mask.sizes())) return;
  LoopNest nest = LoopNest::over(shape.span());
  nest.add(in);
  nest.add(mask);
  nest.collapse();
  const uint8_t* holds = mask.const_data_ptr<uint8_t>();
  const int64_t in_step = nest.inner_stride(0), mask_step = nest.inner_stride(1);
  int64_t count = 0;
  for_each_row(nest, 0, nest.numel(), [&](const int64_t* offsets, int64_t n) {
    for (int64_t i = 0; i < n; ++i) count += holds[offsets[1] + i * mask_step] != 0;
  });
  if (!resize_out(context, out, {count})) return;
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.const_data_ptr<T>();
    T* to = out.mutable_data_ptr<T>();
    for_each_row(nest, 0, nest.numel(), [&](const int64_t* offsets, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        if (holds[offsets[1] + i * mask_step] != 0) *to++ = from[offsets[0] + i * in_step];
      }
    });
  });
}

}  // namespace rushlight::portable
