#include "kernels/quantized/choose.h"

#include <algorithm>
#include <cmath>

#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

namespace {

float rounded_to(ScalarType type, float value) {
  if (type == ScalarType::Half) return Half(value);
  if (type == ScalarType::BFloat16) return BFloat16(value);
  return value;
}

}  // namespace

bool extremes_of(KernelRuntimeContext& context, const Tensor& in, Extremes* extremes) {
  if (in.numel() == 0) {
    context.fail(Error::InvalidArgument, "an empty tensor has no range");
    return false;
  }
  LoopNest nest = LoopNest::over(in.sizes());
  nest.add(in);
  nest.sort_by(0);
  nest.collapse();
  const Convert load = load_function(in.scalar_type(), ScalarType::Float);
  Extremes found{INFINITY, -INFINITY};
  bool nan = false;
  for_each_row(nest, 0, nest.numel(), [&](const int64_t* offsets, int64_t n) {
    constexpr int64_t kChunk = 256;
    for (int64_t done = 0; done < n; done += kChunk) {
      alignas(64) float values[kChunk];
      const int64_t count = std::min(kChunk, n - done);
      load(at(in, offsets[0] + done * nest.inner_stride(0)), nest.inner_stride(0), values, 1, count);
      for (int64_t i = 0; i < count; ++i) {
        found.least = values[i] < found.least ? values[i] : found.least;
        found.most = values[i] > found.most ? values[i] : found.most;
        nan |= values[i] != values[i];
      }
    }
  });
  *extremes = nan ? Extremes{NAN, NAN} : found;
  return true;
}

Affine choose_affine(const Extremes& extremes, ScalarType in, int64_t quant_min, int64_t quant_max, double eps) {
  const float least = std::min(extremes.least, 0.0f), most = std::max(extremes.most, 0.0f);
  const float span = rounded_to(in, most - least);
  const float scale =
      std::max(rounded_to(in, span / static_cast<float>(quant_max - quant_min)), static_cast<float>(eps));
  const float low = std::nearbyint(least / scale);
  // A value out of the range of int32 becomes the smallest one, as in eager PyTorch.
  const int64_t below = low >= -2147483648.0f && low < 2147483648.0f ? static_cast<int64_t>(low) : INT32_MIN;
  return {scale, std::clamp(quant_min - below, quant_min, quant_max)};
}

Affine choose_symmetric(const Extremes& extremes, ScalarType in, int64_t quant_min, int64_t quant_max, double eps,
                        ScalarType dtype) {
  const float most = std::max(-std::min(extremes.least, 0.0f), std::max(extremes.most, 0.0f));
  const float half_range = static_cast<float>(static_cast<double>(quant_max - quant_min) / 2);
  const float scale = std::max(rounded_to(in, most / half_range), static_cast<float>(eps));
  return {scale, dtype == ScalarType::Byte ? 128 : 0};
}

void set_number(const Tensor& tensor, int64_t index, double value) {
  const ScalarType type = tensor.scalar_type();
  if (is_floating(type)) {
    store_function(ScalarType::Double, type)(&value, 1, at(tensor, index), 1, 1);
    return;
  }
  const int64_t whole = value == value && std::fabs(value) < 9e18 ? static_cast<int64_t>(value) : INT64_MIN;
  store_function(ScalarType::Long, type)(&whole, 1, at(tensor, index), 1, 1);
}

void set_chosen(KernelRuntimeContext& context, const Affine& chosen, const Tensor& scale, const Tensor& zero_point) {
  if (!resize_out(context, scale, {1}) || !resize_out(context, zero_point, {1})) return;
  set_number(scale, 0, chosen.scale);
  set_number(zero_point, 0, static_cast<double>(chosen.zero));
}

int64_t resize_for_tokens(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                          const Tensor& zero_point) {
  if (in.dim() == 0) {
    context.fail(Error::InvalidArgument, "a zero-dim tensor has no tokens");
    return -1;
  }
  Shape shape(in.sizes());
  shape.set(in.dim() - 1, 1);
  if (!resize_out(context, scale, shape.span()) || !resize_out(context, zero_point, shape.span())) return -1;
  if (in.size(in.dim() - 1) == 0 && scale.numel() > 0) {
    context.fail(Error::InvalidArgument, "tokens without elements have no range");
    return -1;
  }
  return scale.numel();
}

}  // namespace rushlight::quantized
