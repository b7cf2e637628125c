#pragma once

#include "kernels/quantized/bytes.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

struct Operand {
  const Tensor& tensor;
  double scale;
  int64_t zero;
};

// The arguments of a Requantizer.
struct Quantization {
  double scale;
  int64_t zero, quant_min, quant_max;
};

using LoopOnCortexM = void (*)(const cortex_m::Int8Operand&, const cortex_m::Int8Operand&, int32_t,
                               const cortex_m::Int8Output&, uint8_t*);

// Computes rows with a loop for Cortex-M. Returns false if the loop does not support the arguments.
inline bool run_on_cortex_m(const LoopNest& nest, const Operand& a, const Operand& b, const Quantization& results,
                            const Tensor& out, LoopOnCortexM loop) {
  cortex_m::Int8Output output;
  cortex_m::Int8Operand left, right;
  const auto set_operand = [](const Operand& operand, int64_t step, cortex_m::Int8Operand* to) {
    to->step = static_cast<int32_t>(step);
    to->sign_mask = cortex_m_sign_mask(operand.tensor);
    to->scale = static_cast<float>(operand.scale);
    return (step == 0 || step == 1) && cortex_m_zero(operand.tensor, operand.zero, &to->zero) &&
           cortex_m::is_usual(to->scale);
  };
  if (nest.inner_stride(0) != 1 ||
      !set_output(results.scale, results.zero, results.quant_min, results.quant_max, &output) ||
      !set_operand(a, nest.inner_stride(1), &left) || !set_operand(b, nest.inner_stride(2), &right)) {
    return false;
  }
  const auto run_row = [&](const int64_t* offsets, int64_t n) {
    left.data = a.tensor.const_data_ptr<uint8_t>() + offsets[1];
    right.data = b.tensor.const_data_ptr<uint8_t>() + offsets[2];
    loop(left, right, static_cast<int32_t>(n), output, out.mutable_data_ptr<uint8_t>() + offsets[0]);
  };
  if (nest.dim <= 1) {
    constexpr int64_t kNoOffsets[3] = {0, 0, 0};
    if (nest.inner_size() > 0) run_row(kNoOffsets, nest.inner_size());
  } else {
    for_each_row(nest, 0, nest.numel(), run_row);
  }
  return true;
}

// Computes out = requantize(op(real a, real b)), with broadcasting. `loop` computes the same on Cortex-M, or is null.
template <typename Op>
void binary_elements(KernelRuntimeContext& context, const Operand& a, const Operand& b, const Quantization& results,
                     const Tensor& out, const Op& op, LoopOnCortexM loop) {
  if (!is_byte(a.tensor) || !is_byte(b.tensor)) {
    context.fail(Error::InvalidType, "operands are %s and %s, not int8 or uint8", dtype_name(a.tensor.scalar_type()),
                 dtype_name(b.tensor.scalar_type()));
    return;
  }
  bool have_same_layout = same_layout(a.tensor, b.tensor);
  if (have_same_layout) {
    if (!resize_out_like(context, out, a.tensor)) return;
    have_same_layout = same_layout(out, a.tensor);
  } else {
    Shape shape(a.tensor.sizes());
    if (!broadcast_shape(context, shape, b.tensor.sizes()) || !resize_out(context, out, shape.span())) return;
  }
  LoopNest nest;
  if (have_same_layout) {
    nest.push(out.numel(), {1, 1, 1});
  } else {
    for (const SizesType size : out.sizes()) nest.size[nest.dim++] = size;
    nest.add(out);
    nest.add(a.tensor);
    nest.add(b.tensor);
    nest.sort_by(0);
    nest.collapse();
  }
  if constexpr (cortex_m::kHasInt8) {
    if (run_on_cortex_m(nest, a, b, results, out, loop)) return;
  }
  const Requantizer requantize(results.scale, results.zero, results.quant_min, results.quant_max);
  const ByteReader read_a(a.tensor), read_b(b.tensor);
  const float scale_a = static_cast<float>(a.scale), scale_b = static_cast<float>(b.scale);
  const float zero_a = static_cast<float>(a.zero), zero_b = static_cast<float>(b.zero);
  context.parallel_for(0, nest.numel(), 16384, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* offsets, int64_t n) {
      uint8_t* to = out.mutable_data_ptr<uint8_t>() + offsets[0];
      const uint8_t* x = a.tensor.const_data_ptr<uint8_t>() + offsets[1];
      const uint8_t* y = b.tensor.const_data_ptr<uint8_t>() + offsets[2];
      for (int64_t i = 0; i < n; ++i) {
        const float left = (static_cast<float>(read_a(x[i * nest.inner_stride(1)])) - zero_a) * scale_a;
        const float right = (static_cast<float>(read_b(y[i * nest.inner_stride(2)])) - zero_b) * scale_b;
        to[i * nest.inner_stride(0)] = requantize(op(left, right));
      }
    });
  });
}

}  // namespace rushlight::quantized
