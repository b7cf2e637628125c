#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "kernels/shared/accumulate.h"

namespace rushlight {

// Computes the variance, or its square root, as a reduction (see reduce.h).
template <typename C, bool root>
struct Deviation {
  double correction;
  Moments init() const { return {}; }
  void update(Moments& moments, const C* x, int64_t n) const { moments.add(x, n); }
  double finish(const Moments& moments) const {
    const double variance = moments.variance(correction);
    return root ? std::sqrt(variance) : variance;
  }
};

// Computes the mean and the variance, or its square root, as a reduction.
template <typename C, bool root>
struct DeviationAndMean : Deviation<C, root> {
  std::pair<double, double> finish(const Moments& moments) const {
    const double mean = moments.count > 0 ? moments.mean : std::nan("");
    return {Deviation<C, root>::finish(moments), mean};
  }
};

}  // namespace rushlight
