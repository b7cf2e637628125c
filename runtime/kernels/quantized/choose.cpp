#include "kernels/quantized/choose.h"

#include <algorithm>
#include <cmath>

#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

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

void set_number(const Tensor& tensor, int64_t index, double value) {
  const ScalarType type = tensor.scalar_type();
  if (is_floating(type)) {
    store_function(ScalarType::Double, type)(&value, 1, at(tensor, index), 1, 1);
    return;
  }
  const int64_t whole = value == value && std::fabs(value) < 9e18 ? static_cast<int64_t>(value) : INT64_MIN;
  store_function(ScalarType::Long, type)(&whole, 1, at(tensor, index), 1, 1);
}

bool require_levels(KernelRuntimeContext& context, int64_t quant_min, int64_t quant_max) {
  if (INT32_MIN <= quant_min && quant_min < quant_max && quant_max <= INT32_MAX) return true;
  context.fail(Error::InvalidArgument,
               "quant_min %lld is not below quant_max %lld, or one of them exceeds the range of int32",
               static_cast<long long>(quant_min), static_cast<long long>(quant_max));
  return false;
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
