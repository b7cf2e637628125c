#include "kernels/optimized/quantized_elements.h"

#include <cmath>

#include "kernels/optimized/quantized_arguments.h"
#include "kernels/quantized/affine_loop.h"
#include "microkernels/tables/int8.h"

namespace rushlight::optimized {

namespace {

constexpr int64_t kGrain = 32 * 1024;
// Zero points up to this magnitude: float32 represents number - zero point exactly.
constexpr double kMaxZero = 1 << 20;

bool make_rows(const Tensor& in, const Tensor& out, const AxisParameters& parameters, LoopNest* nest) {
  const int64_t count = parameters.axis < 0 ? 1 : in.size(parameters.axis);
  for (int64_t i = 0; i < count; ++i) {
    if (!(std::fabs(parameters.zero[i]) <= kMaxZero) || parameters.zero[i] != std::nearbyint(parameters.zero[i]))
      return false;
  }
  *nest = parameters.axis < 0 ? quantized::nest_of_whole(out, in) : quantized::nest_of_axis(out, in, parameters.axis);
  nest->sort_by(0);
  nest->collapse();
  return nest->dim == 0 || (nest->inner_stride(0) == 1 && nest->inner_stride(1) == 1 && nest->inner_stride(2) == 0);
}

}  // namespace

bool quantize_parts(KernelRuntimeContext& context, const Tensor& in, const Tensor& out,
                    const AxisParameters& parameters, int64_t quant_min, int64_t quant_max) {
  LoopNest nest;
  if (!make_rows(in, out, parameters, &nest)) return false;
  const microkernels::Int8Microkernels& kernels = microkernels::int8_microkernels();
  context.parallel_for(0, nest.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* at, int64_t n) {
      const microkernels::Int8Range range{static_cast<int32_t>(parameters.zero[at[2]]), static_cast<int32_t>(quant_min),
                                          static_cast<int32_t>(quant_max)};
      kernels.quantize(in.const_data_ptr<float>() + at[1], n, range, static_cast<float>(parameters.scale[at[2]]),
                       out.mutable_data_ptr<uint8_t>() + at[0]);
    });
  });
  return true;
}

bool dequantize_parts(KernelRuntimeContext& context, const Tensor& in, const Tensor& out,
                      const AxisParameters& parameters) {
  LoopNest nest;
  if (!make_rows(in, out, parameters, &nest)) return false;
  const microkernels::Int8Microkernels& kernels = microkernels::int8_microkernels();
  context.parallel_for(0, nest.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* at, int64_t n) {
      kernels.dequantize_int8(in.const_data_ptr<uint8_t>() + at[1], sign_mask_of(in), n,
                              static_cast<float>(zero_of(in, static_cast<int64_t>(parameters.zero[at[2]]))),
                              static_cast<float>(parameters.scale[at[2]]), out.mutable_data_ptr<float>() + at[0]);
    });
  });
  return true;
}

}  // namespace rushlight::optimized
