#include <optional>
#include <utility>

#include "kernels/portable/reduction.h"
#include "kernels/shared/extreme.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

template <typename C>
struct Range {
  struct State {
    C smallest, largest;
    bool any;
  };
  State init() const { return {C(0), C(0), false}; }
  void update(State& state, const C* x, int64_t n) const {
    if (!state.any) state = {x[0], x[0], true};
    for (int64_t i = 0; i < n; ++i) {
      if (Smaller()(x[i], state.smallest)) state.smallest = x[i];
      if (Greater()(x[i], state.largest)) state.largest = x[i];
    }
  }
  std::pair<C, C> finish(const State& state) const { return {state.smallest, state.largest}; }
};

}  // namespace

void aminmax_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, bool keepdim, Tensor& min,
                 Tensor& max) {
  DimMask mask;
  if (!(dim ? dim_mask(context, in, *dim, &mask) : dim_mask(context, in, std::nullopt, &mask))) return;
  if (!require_nonempty(context, in, mask, "aminmax")) return;
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {min, max}, Range<C>());
  });
}

}  // namespace rushlight::portable
