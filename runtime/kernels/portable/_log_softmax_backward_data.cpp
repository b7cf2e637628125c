#include <cmath>

#include "kernels/portable/reduction.h"
#include "kernels/shared/softmax_backward.h"

namespace rushlight::portable {

namespace {

// Computes grad - exp(y) * sum(grad).
struct Function {
  double term(double g, double) const { return g; }
  template <typename C>
  C apply(C g, C y, C sum) const {
    return g - std::exp(y) * sum;
  }
};

}  // namespace

void log_softmax_backward_data_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& output, int64_t dim,
                                   ScalarType, Tensor& out) {
  softmax_backward(context, grad, output, dim, out, Function());
}

}  // namespace rushlight::portable
