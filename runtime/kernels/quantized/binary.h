#pragma once

#include "kernels/quantized/bytes.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

struct Operand {
  const Tensor& tensor;
  double scale;
  int64_t zero;
};

// Computes out = requantize(op(real a, real b)), with broadcasting.
template <typename Op>
void binary_elements(KernelRuntimeContext& context, const Operand& a, const Operand& b, const Requantizer& requantize,
                     const Tensor& out, const Op& op) {
  Shape shape(a.tensor.sizes());
  if (!is_byte(a.tensor) || !is_byte(b.tensor)) {
    context.fail(Error::InvalidType, "operands are %s and %s, not int8 or uint8", dtype_name(a.tensor.scalar_type()),
                 dtype_name(b.tensor.scalar_type()));
    return;
  }
  if (!broadcast_shape(context, shape, b.tensor.sizes()) || !resize_out(context, out, shape.span())) return;
  LoopNest nest = LoopNest::over(shape.span());
  nest.add(out);
  nest.add(a.tensor);
  nest.add(b.tensor);
  nest.sort_by(0);
  nest.collapse();
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
