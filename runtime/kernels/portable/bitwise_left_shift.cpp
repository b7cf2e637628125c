#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

// A shift by a negative number, or by at least the number of bits, gives 0.
struct Shift {
  int64_t bits;
  int64_t operator()(int64_t x, int64_t by) const {
    return by < 0 || by >= bits ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << by);
  }
};

Shift shift_of(ScalarType type) { return {static_cast<int64_t>(element_size(type)) * 8}; }

}  // namespace

void bitwise_left_shift_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kInteger>(context, {a, b}, out, common, [&](auto) { return shift_of(common); });
}

void bitwise_left_shift_tensor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b,
                                          Tensor& out) {
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kInteger>(context, {a}, out, common, [&](auto) {
    return [shift = shift_of(common), by = number_in<int64_t>(b, common)](int64_t x) { return shift(x, by); };
  });
}

}  // namespace rushlight::portable
