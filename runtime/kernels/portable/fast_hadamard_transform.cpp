#include <algorithm>
#include <cmath>

#include "kernels/portable/llm.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void fast_hadamard_transform_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  const int64_t size = in.dim() > 0 ? in.size(in.dim() - 1) : 0;
  RL_KERNEL_REQUIRE(context, size > 0 && (size & (size - 1)) == 0 && is_contiguous_dim_order(in.dim_order()),
                    InvalidArgument, "the rows of a Hadamard transform need a power of two elements, not %lld",
                    static_cast<long long>(size));
  if (!resize_out_like(context, out, in)) return;
  float* row = out.mutable_data_ptr<float>();
  const float* from = in.const_data_ptr<float>();
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
  for (float* const end = row + in.numel(); row != end; row += size, from += size) {
    std::copy_n(from, size, row);
    for (int64_t half = 1; half < size; half *= 2) {
      for (int64_t i = 0; i < size; ++i) {
        if (i & half) continue;
        const float a = row[i], b = row[i + half];
        row[i] = a + b;
        row[i + half] = a - b;
      }
    }
    for (int64_t i = 0; i < size; ++i) row[i] *= factor;
  }
}

}  // namespace rushlight::portable
