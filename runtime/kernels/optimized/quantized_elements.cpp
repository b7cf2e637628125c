#include "kernels/optimized/quantized_elements.h"

#include <cmath>

#include "kernels/optimized/quantized_arguments.h"
#include "kernels/quantized/affine_loop.h"
#include "microkernels/tables/int8.h"

namespace rushlight::optimized {

namespace {

constexpr int64_t kGrain = 32 * 1024;
// Zero points up to this magnitude: float32 represents number - zero point exactly.
constexpr double kMostZero = 1 << 20;

bool rows_of(const Tensor& in, const Tensor& out, const AffineOfParts& parts, LoopNest* nest) {
  const int64_t count = parts.axis < 0 ? 1 : in.size(parts.axis);
  for (int64_t i = 0; i < count; ++i) {
    if (!(std::fabs(parts.zero[i]) <= kMostZero) || parts.zero[i] != std::nearbyint(parts.zero[i])) return false;
  }
  *nest = parts.axis < 0 ? quantized::nest_of_whole(out, in) : quantized::nest_of_axis(out, in, parts.axis);
  nest->sort_by(0);
  nest->collapse();
  return nest->dim == 0 || (nest->inner_stride(0) == 1 && nest->inner_stride(1) == 1 && nest->inner_stride(2) == 0);
}

}  // namespace

bool quantize_parts(KernelRuntimeContext& context, const Tensor& in, const Tensor& out, const AffineOfParts& parts,
                    int64_t least, int64_t most) {
  LoopNest nest;
  if (!rows_of(in, out, parts, &nest)) return false;
  const microkernels::Int8Microkernels& kernels = microkernels::int8_microkernels();
  context.parallel_for(0, nest.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* at, int64_t n) {
      const microkernels::Int8Range range{static_cast<int32_t>(parts.zero[at[2]]), static_cast<int32_t>(least),
                                          static_cast<int32_t>(most)};
      kernels.quantize(in.const_data_ptr<float>() + at[1], n, range, static_cast<float>(parts.scale[at[2]]),
                       out.mutable_data_ptr<uint8_t>() + at[0]);
    });
  });
  return true;
}

bool dequantize_parts(KernelRuntimeContext& context, const Tensor& in, const Tensor& out, const AffineOfParts& parts) {
  LoopNest nest;
  if (!rows_of(in, out, parts, &nest)) return false;
  const microkernels::Int8Microkernels& kernels = microkernels::int8_microkernels();
  context.parallel_for(0, nest.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* at, int64_t n) {
      kernels.dequantize_int8(in.const_data_ptr<uint8_t>() + at[1], sign_mask_of(in), n,
                              static_cast<float>(zero_of(in, static_cast<int64_t>(parts.zero[at[2]]))),
                              static_cast<float>(parts.scale[at[2]]), out.mutable_data_ptr<float>() + at[0]);
    });
  });
  return true;
}

}  // namespace rushlight::optimized
