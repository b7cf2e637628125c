#include <algorithm>
#include <cmath>

#include "kernels/shared/resample.h"

namespace rushlight {
namespace {

// Computes the cubic convolution kernel with the parameter `a` (Keys: Cubic convolution interpolation for digital image
// processing, 1981).
template <typename W>
W cubic(W x, W a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * a - 4 * a;
  return 0;
}

// Returns the distance of the source positions of two adjacent elements of the result.
template <typename W>
W step_of(const Resample& r, int64_t dim, int64_t source) {
  const int64_t size = r.size[dim];
  if (r.align_corners) return size > 1 ? static_cast<W>(source - 1) / static_cast<W>(size - 1) : W(0);
  constexpr W kMost = W(1 << 30);  // positions then fit into 64 bits
  if (r.scale[dim] && *r.scale[dim] > 0) return std::min(static_cast<W>(1.0 / *r.scale[dim]), kMost);
  return static_cast<W>(source) / static_cast<W>(size);
}

template <typename W>
struct Writer {
  int32_t* index;
  W* weight;
  void add(int64_t position, W value) {
    *index++ = static_cast<int32_t>(position);
    *weight++ = value;
  }
};

template <typename W>
void nearest(const Resample& r, int64_t dim, int64_t source, Writer<W> to) {
  const W step = step_of<W>(r, dim, source);
  const bool exact = r.interpolation == Interpolation::NearestExact;
  for (int64_t i = 0; i < r.size[dim]; ++i) {
    const W position = exact ? (static_cast<W>(i) + W(0.5)) * step : static_cast<W>(i) * step;
    to.add(std::min(static_cast<int64_t>(std::floor(position)), source - 1), W(1));
  }
}

template <typename W>
void linear(const Resample& r, int64_t dim, int64_t source, Writer<W> to) {
  const W step = step_of<W>(r, dim, source);
  for (int64_t i = 0; i < r.size[dim]; ++i) {
    W position = static_cast<W>(i) * step;
    if (!r.align_corners) position = std::max(W(0), (static_cast<W>(i) + W(0.5)) * step - W(0.5));
    if (r.size[dim] == source) position = static_cast<W>(i);
    const int64_t first = std::min(static_cast<int64_t>(position), source - 1);
    const W fraction = std::clamp(position - static_cast<W>(first), W(0), W(1));
    to.add(first, W(1) - fraction);
    to.add(r.size[dim] == source ? first : std::min(first + 1, source - 1), fraction);
  }
}

template <typename W>
void bicubic(const Resample& r, int64_t dim, int64_t source, Writer<W> to) {
  const W step = step_of<W>(r, dim, source);
  for (int64_t i = 0; i < r.size[dim]; ++i) {
    const W position = r.align_corners ? static_cast<W>(i) * step : (static_cast<W>(i) + W(0.5)) * step - W(0.5);
    const int64_t first = std::min(static_cast<int64_t>(std::floor(position)), source - 1);
    const W fraction = std::clamp(position - static_cast<W>(first), W(0), W(1));
    for (int64_t j = -1; j <= 2; ++j) {
      to.add(std::clamp<int64_t>(first + j, 0, source - 1), cubic(fraction - static_cast<W>(j), W(-0.75)));
    }
  }
}

// If the result is smaller than the source, the kernel is wider, so that it covers the whole source.
template <typename W>
struct Support {
  W step, radius, inverse_step;
  int64_t width;
  Support(const Resample& r, int64_t dim, int64_t source) {
    step = step_of<W>(r, dim, source);
    const W half = r.interpolation == Interpolation::Linear ? W(1) : W(2);
    radius = step >= 1 ? half * step : half;
    inverse_step = step >= 1 ? W(1) / step : W(1);
    width = std::min(static_cast<int64_t>(std::ceil(radius)), source + 1) * 2 + 1;
  }
};

template <typename W>
void antialiased(const Resample& r, int64_t dim, int64_t source, const Support<W>& s, Writer<W> to) {
  for (int64_t i = 0; i < r.size[dim]; ++i) {
    const W center = s.step * (static_cast<W>(i) + W(0.5));
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - s.radius + W(0.5)), 0);
    const int64_t last = std::min<int64_t>(static_cast<int64_t>(center + s.radius + W(0.5)), source);
    const int64_t count = std::clamp<int64_t>(last - first, 0, s.width);
    W* weights = to.weight;
    W total = 0;
    for (int64_t j = 0; j < s.width; ++j) {
      W value = 0;
      if (j < count) {
        const W x = (static_cast<W>(j + first) - center + W(0.5)) * s.inverse_step;
        value = r.interpolation == Interpolation::Linear ? std::max(W(0), W(1) - std::abs(x)) : cubic(x, W(-0.5));
      }
      total += value;
      to.add(std::min(first + j, source - 1), value);
    }
    for (int64_t j = 0; j < count && total != 0; ++j) weights[j] /= total;
  }
}

}  // namespace

template <typename W>
bool make_taps(KernelRuntimeContext& context, const Resample& r, int64_t dim, int64_t source, Taps<W>* taps) {
  const Support<W> support(r, dim, source);
  constexpr int64_t kWidth[] = {1, 1, 2, 4};
  taps->width = r.antialias ? support.width : kWidth[static_cast<int>(r.interpolation)];
  const size_t count = static_cast<size_t>(taps->width * r.size[dim]);
  Writer<W> to{context.allocate_temporary_array<int32_t>(count), nullptr};
  if (to.index) to.weight = context.allocate_temporary_array<W>(count);
  if (!to.weight) return false;
  taps->index = to.index;
  taps->weight = to.weight;
  if (r.antialias) {
    antialiased(r, dim, source, support, to);
  } else if (r.interpolation == Interpolation::Linear) {
    linear(r, dim, source, to);
  } else if (r.interpolation == Interpolation::Cubic) {
    bicubic(r, dim, source, to);
  } else {
    nearest(r, dim, source, to);
  }
  return true;
}

template bool make_taps<float>(KernelRuntimeContext&, const Resample&, int64_t, int64_t, Taps<float>*);
template bool make_taps<double>(KernelRuntimeContext&, const Resample&, int64_t, int64_t, Taps<double>*);

}  // namespace rushlight
