#include "kernels/portable/elementwise.h"
#include "kernels/shared/checked_division.h"

namespace rushlight::portable {

namespace {

struct Function {
  ZeroDivision* zero;
  int64_t operator()(int64_t x, int64_t y) const { return Checked<floor_div>{zero}(x, y); }
  float operator()(float x, float y) const { return floor_quotient(x, y); }
  double operator()(double x, double y) const { return floor_quotient(x, y); }
};

}  // namespace

void floor_divide_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  checked_division<Function>(context, a, b, out);
}

void floor_divide_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  checked_division<Function>(context, a, b, out, divisor_type);
}

}  // namespace rushlight::portable
