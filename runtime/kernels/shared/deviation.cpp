#include "kernels/shared/deviation.h"

#include <cmath>
#include <utility>

#include "kernels/shared/accumulate.h"
#include "kernels/shared/reduce.h"

namespace rushlight {
namespace {

// A reduction (see reduce.h) to the variance or to its square root.
template <typename C>
struct Deviation {
  Spread spread;
  double correction;
  Moments init() const { return {}; }
  void update(Moments& moments, const C* x, int64_t n) const { moments.add(x, n); }
  double finish(const Moments& moments) const {
    const double variance = moments.variance(correction);
    return spread == Spread::kDeviation ? std::sqrt(variance) : variance;
  }
};

// The same reduction with the mean as its second result.
template <typename C>
struct DeviationAndMean : Deviation<C> {
  std::pair<double, double> finish(const Moments& moments) const {
    const double mean = moments.count > 0 ? moments.mean : std::nan("");
    return {Deviation<C>::finish(moments), mean};
  }
};

}  // namespace

void reduce_spread(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                   Spread spread, double correction, bool keepdim, const Tensor& out, const Tensor* mean) {
  DimMask mask;
  if (!dim_mask(context, in, dims, &mask)) return;
  switch_compute<kinds::kFloating>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Deviation<C> deviation{spread, correction};
    if (mean) {
      reduce<C>(context, in, mask, keepdim, {out, *mean}, DeviationAndMean<C>{deviation});
    } else {
      reduce<C>(context, in, mask, keepdim, {out}, deviation);
    }
  });
}

}  // namespace rushlight
