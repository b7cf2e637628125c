#include "kernels/portable/linalg.h"
#include "kernels/shared/lu_batch.h"

namespace rushlight::portable {

void linalg_lu_factor_ex_out(KernelRuntimeContext& context, const Tensor& in, bool pivot, bool check_errors, Tensor& lu,
                             Tensor& pivots, Tensor& info) {
  (void)check_errors;
  if (!require_matrices(context, in, false) || !clear_info(context, info, MatrixBatch(in).batch())) return;
  for_each_lu(context, in, pivot, lu, pivots, [&](int64_t i, const LuFactors& factors) {
    info.mutable_data_ptr<int32_t>()[i] = static_cast<int32_t>(factors.zero_pivot);
  });
}

}  // namespace rushlight::portable
