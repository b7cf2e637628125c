#include "kernels/portable/reduction.h"
#include "kernels/shared/softmax_backward.h"

namespace rushlight::portable {

namespace {

// Computes y * (grad - sum(grad * y)).
struct Function {
  double term(double g, double y) const { return g * y; }
  template <typename C>
  C apply(C g, C y, C sum) const {
    return y * (g - sum);
  }
};

}  // namespace

void softmax_backward_data_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& output, int64_t dim,
                               ScalarType, Tensor& out) {
  softmax_backward(context, grad, output, dim, out, Function());
}

}  // namespace rushlight::portable
