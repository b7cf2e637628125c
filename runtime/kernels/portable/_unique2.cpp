#include "kernels/portable/reduction.h"
#include "kernels/shared/unique.h"

namespace rushlight::portable {

void unique2_out(KernelRuntimeContext& context, const Tensor& in, bool, bool return_inverse, bool return_counts,
                 Tensor& values, Tensor& inverse, Tensor& counts) {
  unique_runs(context, in, true, return_inverse, return_counts, values, inverse, counts);
}

}  // namespace rushlight::portable
