#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/optimized/layout.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

bool logical_not_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (in.scalar_type() != ScalarType::Bool) {
    return map_compare(context, microkernels::CompareOp::Equal, in, Scalar(0), out);
  }
  if (out.scalar_type() != ScalarType::Bool) return false;
  if (!resize_out_like(context, out, in)) return true;
  if (!same_layout(in, out)) return false;
  context.parallel_for(0, in.numel(), 64 * 1024, [&](int64_t begin, int64_t end) {
    // Local copies show the compiler that writing bytes cannot change these pointers.
    const uint8_t* x = in.const_data_ptr<uint8_t>();
    uint8_t* y = out.mutable_data_ptr<uint8_t>();
    for (int64_t i = begin; i < end; ++i) y[i] = x[i] == 0;
  });
  return true;
}

}  // namespace rushlight::optimized
