#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/checked_division.h"

namespace rushlight::portable {

namespace {

struct Function {
  ZeroDivision* zero;
  int64_t operator()(int64_t x, int64_t y) const { return Checked<trunc_mod>{zero}(x, y); }
  float operator()(float x, float y) const { return remainder_of(x, y); }
  double operator()(double x, double y) const { return std::fmod(x, y); }
};

}  // namespace

void fmod_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  checked_division<Function>(context, a, b, out);
}

void fmod_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  checked_division<Function>(context, a, b, out);
}

}  // namespace rushlight::portable
