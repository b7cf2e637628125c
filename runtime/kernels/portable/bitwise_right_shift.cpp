#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

// A shift by a negative number, or by at least the number of bits, gives 0, or -1 for a negative operand.
struct Shift {
  int64_t most;
  int64_t operator()(int64_t x, int64_t by) const { return x >> (by < 0 || by > most ? most : by); }
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
    return [shift = shift_of(common), by = number_in<int64_t>(b, common)](int64_t x) { return shift(x, by); };
  });
}

}  // namespace rushlight::portable
