#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/layout.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

// Supports float32.
bool nan_to_num_out(KernelRuntimeContext& context, const Tensor& in, std::optional<double> nan,
                    std::optional<double> posinf, std::optional<double> neginf, Tensor& out) {
  using Limits = std::numeric_limits<float>;
  constexpr int64_t kBlock = 256, kGrain = 16 * 1024;
  if (!all_float(in, out)) return false;
  if (!resize_out_like(context, out, in)) return true;
  if (!same_layout(in, out)) return false;
  const float number = static_cast<float>(nan.value_or(0));
  const float high = posinf ? static_cast<float>(*posinf) : Limits::max();
  const float low = neginf ? static_cast<float>(*neginf) : Limits::lowest();
  const float* const from = in.const_data_ptr<float>();
  float* const to = out.mutable_data_ptr<float>();
  context.parallel_for(0, in.numel(), kGrain, [&](int64_t begin, int64_t end) {
    // Compilers vectorize loops with a constant number of iterations.
    float block[kBlock] = {};
    for (int64_t i = begin; i < end; i += kBlock) {
      const size_t bytes = static_cast<size_t>(std::min(kBlock, end - i)) * sizeof(float);
      std::memcpy(block, from + i, bytes);
      for (float& x : block) {
        const float finite = x == Limits::infinity() ? high : x == -Limits::infinity() ? low : x;
        x = x == x ? finite : number;
      }
      std::memcpy(to + i, block, bytes);
    }
  });
  return true;
}

}  // namespace rushlight::optimized
