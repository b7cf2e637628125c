#include <cmath>
#include <limits>

#include "kernels/portable/reduction.h"
#include "kernels/shared/accumulate.h"
#include "kernels/shared/extreme.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

// The state is the sum of exp(x - most), where `most` is the largest x so far.
template <typename C>
struct LogSumExp {
  struct State {
    double most, sum;
  };
  State init() const { return {-std::numeric_limits<double>::infinity(), 0}; }
  void update(State& state, const C* x, int64_t n) const {
    double most = state.most;
    for (int64_t i = 0; i < n; ++i) {
      if (Greater()(static_cast<double>(x[i]), most)) most = static_cast<double>(x[i]);
    }
    if (!std::isfinite(most)) {
      state.most = most;
      return;
    }
    state.sum *= std::exp(state.most - most);
    state.sum += sum_of(n, [x, most](int64_t i) { return std::exp(static_cast<double>(x[i]) - most); });
    state.most = most;
  }
  double finish(const State& state) const {
    return std::isfinite(state.most) ? state.most + std::log(state.sum) : state.most;
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
