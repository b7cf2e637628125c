#include <optional>
#include <type_traits>

#include "kernels/portable/reduction.h"
#include "kernels/shared/accumulate.h"
#include "kernels/shared/integer.h"
#include "kernels/shared/reduce.h"
#include "kernels/shared/scan.h"

namespace rushlight::portable {

namespace {

template <typename C>
struct CumulativeSum {
  Wide<C> init() const { return Wide<C>(0); }
  C update(Wide<C>& state, C x) const {
    if constexpr (std::is_same_v<C, int64_t>) {
      state = wrap_add(state, x);
    } else {
      state = state + static_cast<Wide<C>>(x);
    }
    return static_cast<C>(state);
  }
};

}  // namespace

void cumsum_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, std::optional<ScalarType> dtype,
                Tensor& out) {
  int64_t axis;
  if (!prepare_scan(context, in, dim, out, &axis)) return;
  switch_compute<kinds::kAll>(context, dtype.value_or(out.scalar_type()), [&](auto tag) {
    using C = typename decltype(tag)::type;
    scan<C>(context, in, axis, out, CumulativeSum<C>());
  });
}

}  // namespace rushlight::portable
