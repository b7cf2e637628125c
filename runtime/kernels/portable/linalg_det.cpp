#include "kernels/portable/linalg.h"
#include "kernels/shared/lu_batch.h"

namespace rushlight::portable {

void linalg_det_result(KernelRuntimeContext& context, const Tensor& in, Tensor& out, Tensor& lu, Tensor& pivots) {
  if (!require_matrices(context, in, true) || !require_dtype(context, out, in.scalar_type())) return;
  if (!resize_out(context, out, MatrixBatch(in).batch())) return;
  for_each_lu(context, in, true, lu, pivots, [&](int64_t i, const LuFactors& factors) {
    double product = factors.sign();
    for (int64_t k = 0; k < factors.rows; ++k) product *= factors.lu[k * (factors.columns + 1)];
    if (out.scalar_type() == ScalarType::Float) {
      out.mutable_data_ptr<float>()[i] = static_cast<float>(product);
    } else {
      out.mutable_data_ptr<double>()[i] = product;
    }
  });
}

}  // namespace rushlight::portable
