#include "kernels/quantized/bytes.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/row_major.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void quantized_lookup_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& table, Tensor& out) {
  RL_KERNEL_REQUIRE(context, table.numel() == 256, InvalidArgument, "the table has %lld elements, not 256",
                    static_cast<long long>(table.numel()));
  RL_KERNEL_REQUIRE(context, is_byte(in), InvalidType, "the input is %s, not int8 or uint8",
                    dtype_name(in.scalar_type()));
  if (!require_same_dtype(context, table, out) || !resize_out_like(context, out, in)) return;
  const RowMajorInput entries(context, table);
  if (context.failed()) return;
  LoopNest nest = LoopNest::over(out.sizes());
  nest.add(out);
  nest.add(in);
  nest.sort_by(0);
  nest.collapse();
  const uint8_t sign_mask = in.scalar_type() == ScalarType::Char ? 0x80 : 0;
  switch_element_size(context, out.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const values = entries.data<T>();
    context.parallel_for(0, nest.numel(), 32768, [&](int64_t begin, int64_t end) {
      for_each_row(nest, begin, end, [&](const int64_t* offsets, int64_t n) {
        T* to = out.mutable_data_ptr<T>() + offsets[0];
        const uint8_t* from = in.const_data_ptr<uint8_t>() + offsets[1];
        if constexpr (cortex_m::kHasInt8 && sizeof(T) == 1) {
          if (nest.inner_stride(0) == 1 && nest.inner_stride(1) == 1) {
            return cortex_m::look_up(from, sign_mask, reinterpret_cast<const uint8_t*>(values), static_cast<int32_t>(n),
                                     reinterpret_cast<uint8_t*>(to));
          }
        }
        for (int64_t i = 0; i < n; ++i) {
          to[i * nest.inner_stride(0)] = values[from[i * nest.inner_stride(1)] ^ sign_mask];
        }
      });
    });
  });
}

}  // namespace rushlight::quantized
