#include <cmath>
#include <limits>

#include "kernels/portable/reduction.h"
#include "kernels/shared/reduce.h"
#include "kernels/shared/scan.h"

namespace rushlight::portable {

namespace {

// Computes log(exp(state) + exp(x)) from exp(-|state - x|), which cannot overflow.
template <typename C>
struct LogCumulativeSumExp {
  double init() const { return -std::numeric_limits<double>::infinity(); }
  C update(double& state, C value) const {
    const double x = static_cast<double>(value);
    const double maximum = x > state || x != x ? x : state, minimum = x > state || x != x ? state : x;
    if (std::isfinite(maximum) || maximum != maximum) {
      state = maximum + std::log1p(std::exp(minimum - maximum));
    } else {
      state = minimum != minimum ? minimum : maximum;
    }
    return static_cast<C>(state);
  }
};

}  // namespace

void logcumsumexp_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& out) {
  int64_t axis;
  if (!prepare_scan(context, in, dim, out, &axis)) return;
  switch_compute<kinds::kFloating>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    scan<C>(context, in, axis, out, LogCumulativeSumExp<C>());
  });
}

}  // namespace rushlight::portable
