#include <cmath>

#include "kernels/quantized/affine.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/choose.h"
#include "kernels/shared/row_major.h"

namespace rushlight::quantized {

// Computes what choose_qparams_symmetric computes, for each vector along the last dimension.
void choose_qparams_per_token_symmetric_out(KernelRuntimeContext& context, const Tensor& in, int64_t quant_min,
                                            int64_t quant_max, double eps, ScalarType dtype, Tensor& scale,
                                            Tensor& zero_point) {
  if (!require_range(context, quant_min, quant_max, dtype) || !require_levels(context, quant_min, quant_max)) return;
  const int64_t tokens = resize_for_tokens(context, in, scale, zero_point);
  if (tokens < 0) return;
  const RowMajorInput rows(context, in);
  if (context.failed()) return;
  const int64_t length = in.size(in.dim() - 1);
  for (int64_t t = 0; t < tokens; ++t) {
    const float* const x = rows.data<float>() + t * length;
    float most = 0;
    for (int64_t i = 0; i < length; ++i) {
      const float magnitude = std::fabs(x[i]);
      if (!(magnitude <= most)) most = magnitude;  // also if it is NaN
      if (magnitude != magnitude) break;
    }
    const Affine chosen = choose_symmetric({-most, most}, ScalarType::Float, quant_min, quant_max, eps, dtype);
    set_number(scale, t, chosen.scale);
    set_number(zero_point, t, static_cast<double>(chosen.zero));
  }
}

}  // namespace rushlight::quantized
