#include <cmath>
#include <limits>

#include "kernels/portable/reduction.h"
#include "kernels/shared/accumulate.h"
#include "kernels/shared/extreme.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

// The state is the sum of exp(x - largest), where `largest` is the largest x so far.
template <typename C>
struct LogSumExp {
  struct State {
    double largest, sum;
  };
  State init() const { return {-std::numeric_limits<double>::infinity(), 0}; }
  void update(State& state, const C* x, int64_t n) const {
    double largest = state.largest;
    for (int64_t i = 0; i < n; ++i) {
      if (Greater()(static_cast<double>(x[i]), largest)) largest = static_cast<double>(x[i]);
    }
    if (!std::isfinite(largest)) {
      state.largest = largest;
      return;
    }
    state.sum *= std::exp(state.largest - largest);
    state.sum += sum_of(n, [x, largest](int64_t i) { return std::exp(static_cast<double>(x[i]) - largest); });
    state.largest = largest;
  }
  double finish(const State& state) const {
    return std::isfinite(state.largest) ? state.largest + std::log(state.sum) : state.largest;
  }
};

}  // namespace

void logsumexp_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, bool keepdim,
                   Tensor& out) {
  DimMask mask;
  if (!dim_mask(context, in, dims, &mask)) return;
  switch_compute<kinds::kFloating>(context, float_result(in.scalar_type()), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {out}, LogSumExp<C>());
  });
}

}  // namespace rushlight::portable
