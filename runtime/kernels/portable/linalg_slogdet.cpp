#include <cmath>

#include "kernels/portable/linalg.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/lu_batch.h"

namespace rushlight::portable {

void linalg_slogdet_sign(KernelRuntimeContext& context, const Tensor& in, Tensor& sign, Tensor& logabsdet, Tensor& lu,
                         Tensor& pivots) {
  if (!require_matrices(context, in, true) || !require_dtype(context, sign, in.scalar_type()) ||
      !require_dtype(context, logabsdet, in.scalar_type())) {
    return;
  }
  const Span<const SizesType> batch = MatrixBatch(in).batch();
  if (!resize_out(context, sign, batch) || !resize_out(context, logabsdet, batch)) return;
  switch_dtype<dtypes::kFloat>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_lu(context, in, true, lu, pivots, [&](int64_t i, const LuFactors& factors) {
      double s = factors.sign(), sum = 0;
      for (int64_t k = 0; k < factors.rows; ++k) {
        const double pivot = factors.lu[k * (factors.columns + 1)];
        s *= static_cast<double>((pivot > 0) - (pivot < 0));
        sum += std::log(std::fabs(pivot));
      }
      sign.mutable_data_ptr<T>()[i] = static_cast<T>(s);
      logabsdet.mutable_data_ptr<T>()[i] = static_cast<T>(sum);
    });
  });
}

}  // namespace rushlight::portable
