#include <cmath>

#include "kernels/quantized/affine.h"
#include "kernels/quantized/choose.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/row_major.h"

namespace rushlight::quantized {

// Symmetric quantization: the scale is the largest magnitude divided by 127, and the zero point is 0. The scale of
// float16 is computed in float32.
void choose_qparams_per_token_out(KernelRuntimeContext& context, const Tensor& in, ScalarType dtype, Tensor& scale,
                                  Tensor& zero_point) {
  RL_KERNEL_REQUIRE(context, dtype == ScalarType::Char, InvalidType, "tokens are quantized to int8 only, not to %s",
                    dtype_name(dtype));
  const int64_t tokens = resize_for_tokens(context, in, scale, zero_point);
  if (tokens < 0) return;
  const RowMajorInput rows(context, in);
  if (context.failed()) return;
  const int64_t length = in.size(in.dim() - 1);
  switch_dtype<dtypes::kFloatH>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    // The type in which eager PyTorch clamps and divides.
    using C = std::conditional_t<std::is_same_v<T, Half>, float, T>;
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T* const values = rows.data<T>();
    for (int64_t t = 0; t < tokens; ++t) {
      Wide maximum = 0;
      for (int64_t i = 0; i < length; ++i) {
        const Wide x = std::fabs(static_cast<Wide>(values[t * length + i]));
        maximum = x > maximum || x != x ? x : maximum;
        if (x != x) break;
      }
      const Wide minimum = static_cast<Wide>(C(static_cast<Wide>(1e-5)));
      const C clamped = C(maximum < minimum ? minimum : maximum);
      set_number(scale, t, static_cast<double>(static_cast<Wide>(C(static_cast<Wide>(clamped) / 127))));
      set_number(zero_point, t, 0);
    }
  });
}

}  // namespace rushlight::quantized
