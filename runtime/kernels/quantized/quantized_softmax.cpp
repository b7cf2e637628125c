#include "kernels/quantized/bytes.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/row_major.h"
#include "kernels/shared/rows.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

namespace {

// Returns whether each result is written over its own number, or over no number. Otherwise numbers would change before
// they are read again as indices of the table.
bool is_elementwise(const Tensor& in, const Tensor& out) {
  const uint8_t* const from = in.const_data_ptr<uint8_t>();
  const uint8_t* const to = out.const_data_ptr<uint8_t>();
  if (from + in.nbytes() <= to || to + out.nbytes() <= from) return true;
  for (int64_t d = 0; d < in.dim(); ++d) {
    if (in.size(d) > 1 && in.stride(d) != out.stride(d)) return false;
  }
  return from == to;
}

}  // namespace

void quantized_softmax_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& exponentials, int64_t dim,
                           double scale, int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out) {
  int64_t axis;
  RL_KERNEL_REQUIRE(context, is_byte(in), InvalidType, "the input is %s, not int8 or uint8",
                    dtype_name(in.scalar_type()));
  RL_KERNEL_REQUIRE(context, exponentials.scalar_type() == ScalarType::Int && exponentials.numel() == 256,
                    InvalidArgument, "the table of exponentials has %lld elements of %s, not 256 of int32",
                    static_cast<long long>(exponentials.numel()), dtype_name(exponentials.scalar_type()));
  if (!require_output(context, out, quant_min, quant_max) || !normalize_dim(context, dim, in.dim(), &axis) ||
      !resize_out_like(context, out, in)) {
    return;
  }
  RL_KERNEL_REQUIRE(context, is_elementwise(in, out), InvalidArgument, "the memory of out overlaps that of the input");
  const RowMajorInput table(context, exponentials);
  if (context.failed()) return;
  const int32_t* const powers = table.data<int32_t>();
  const uint8_t sign_mask =
      cortex_m_sign_mask(in) ^ 0x80;  // byte XOR sign_mask is an unsigned byte in the order of the quantized numbers
  bool has_loop = false;
  cortex_m::Int8Output output;
  if constexpr (cortex_m::kHasInt8) {
    const int64_t size = in.dim() > 0 ? in.size(axis) : 1;
    has_loop = (in.dim() == 0 || (in.stride(axis) == 1 && out.stride(axis) == 1)) && size < 1 << 16 &&
               set_output(scale, zero, quant_min, quant_max, &output);
    if (has_loop && in.numel() == size) {
      return cortex_m::softmax(in.const_data_ptr<uint8_t>(), sign_mask, powers, static_cast<int32_t>(size), output,
                               out.mutable_data_ptr<uint8_t>());
    }
  }
  const Rows rows({in, out}, axis);
  const int64_t length = rows.length(0);
  const Requantizer requantize(scale, zero, quant_min, quant_max);
  rows.for_each(context, [&](const int64_t* offsets) {
    const uint8_t* const from = in.const_data_ptr<uint8_t>() + offsets[0];
    uint8_t* const to = out.mutable_data_ptr<uint8_t>() + offsets[1];
    if constexpr (cortex_m::kHasInt8) {
      if (has_loop) return cortex_m::softmax(from, sign_mask, powers, static_cast<int32_t>(length), output, to);
    }
    const auto number = [&](int64_t i) { return from[i * rows.stride(0)] ^ sign_mask; };
    int largest = 0;
    for (int64_t i = 0; i < length; ++i) largest = number(i) > largest ? number(i) : largest;
    int64_t sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += powers[largest - number(i)];
    const float inverse = sum == 0 ? 0.0f : 1.0f / static_cast<float>(sum);
    for (int64_t i = 0; i < length; ++i) {
      to[i * rows.stride(1)] = requantize(static_cast<float>(powers[largest - number(i)]) * inverse);
    }
  });
}

}  // namespace rushlight::quantized
