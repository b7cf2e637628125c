#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

// A shift by a negative number, or by at least the number of bits, gives 0, or -1 for a negative operand.
struct Shift {
  int64_t max_shift;
  int64_t operator()(int64_t x, int64_t shift) const {
    return x >> (shift < 0 || shift > max_shift ? max_shift : shift);
  }
};

Shift shift_of(ScalarType type) {
  const int64_t bits = static_cast<int64_t>(element_size(type)) * 8;
  return {type == ScalarType::Byte ? bits : bits - 1};
}

}  // namespace

void bitwise_right_shift_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kInteger>(context, {a, b}, out, common, [&](auto) { return shift_of(common); });
}

void bitwise_right_shift_tensor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b,
                                           Tensor& out) {
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kInteger>(context, {a}, out, common, [&](auto) {
    return
        [function = shift_of(common), shift = number_in<int64_t>(b, common)](int64_t x) { return function(x, shift); };
  });
}

}  // namespace rushlight::portable
