#include <cmath>
#include <limits>

#include "kernels/quantized/affine.h"
#include "kernels/quantized/choose.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/row_major.h"

namespace rushlight::quantized {

void choose_qparams_per_token_asymmetric_out(KernelRuntimeContext& context, const Tensor& in, ScalarType, Tensor& scale,
                                             Tensor& zero_point) {
  const int64_t tokens = resize_for_tokens(context, in, scale, zero_point);
  if (tokens < 0) return;
  const RowMajorInput rows(context, in);
  if (context.failed()) return;
  const int64_t length = in.size(in.dim() - 1);
  switch_dtype<dtypes::kFloatH>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T* const values = rows.data<T>();
    context.parallel_for(0, tokens, 16384 / (length + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        Wide minimum = 0, maximum = 0;
        bool nan = false;
        for (int64_t i = 0; i < length; ++i) {
          const Wide x = values[t * length + i];
          minimum = x < minimum ? x : minimum;
          maximum = x > maximum ? x : maximum;
          nan |= x != x;
        }
        if (nan) minimum = maximum = std::numeric_limits<Wide>::quiet_NaN();
        const Token<T> token = choose_token(T(minimum), T(maximum));
        set_number(scale, t, static_cast<double>(static_cast<Wide>(token.scale)));
        set_number(zero_point, t, static_cast<double>(static_cast<Wide>(token.zero)));
      }
    });
  });
}

}  // namespace rushlight::quantized
