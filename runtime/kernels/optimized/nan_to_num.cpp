#include <algorithm>
#include <limits>

#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/layout.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/shape.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

// Supports float32.
bool nan_to_num_out(KernelRuntimeContext& context, const Tensor& in, std::optional<double> nan,
                    std::optional<double> posinf, std::optional<double> neginf, Tensor& out) {
  using Limits = std::numeric_limits<float>;
  constexpr int64_t kBlock = 1024, kGrain = 16 * 1024;
  if (!all_float(in, out)) return false;
  if (!resize_out_like(context, out, in)) return true;
  if (!same_layout(in, out)) return false;
  const float number = static_cast<float>(nan.value_or(0));
  const float infinities[2] = {Limits::infinity(), -Limits::infinity()};
  const float limits[2] = {posinf ? static_cast<float>(*posinf) : Limits::max(),
                           neginf ? static_cast<float>(*neginf) : Limits::lowest()};
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const float* const from = in.const_data_ptr<float>();
  float* const to = out.mutable_data_ptr<float>();
  context.parallel_for(0, in.numel(), kGrain, [&](int64_t begin, int64_t end) {
    uint8_t masks[3][kBlock];
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t n = std::min(kBlock, end - i);
      // All conditions are those of the input: a number that replaces NaN may be infinite.
      kernels.compare(microkernels::CompareOp::NotEqual, from + i, 1, from + i, 1, masks[2], n);
      for (int k = 0; k < 2; ++k) {
        kernels.compare(microkernels::CompareOp::Equal, from + i, 1, infinities + k, 0, masks[k], n);
      }
      kernels.where(masks[2], 1, &number, 0, from + i, 1, to + i, n);
      for (int k = 0; k < 2; ++k) kernels.where(masks[k], 1, limits + k, 0, to + i, 1, to + i, n);
    }
  });
  return true;
}

}  // namespace rushlight::optimized
