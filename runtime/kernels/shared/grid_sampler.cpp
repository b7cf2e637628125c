#include "kernels/shared/grid_sampler.h"

#include <algorithm>
#include <cmath>

#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/window.h"

namespace rushlight {
namespace {

enum Padding { kZeros, kBorder, kReflection };

// Returns a position that is in the range of int32 unchanged, and -100, which is outside of any image, for all others.
template <typename W>
W finite_position(W x) {
  return x < W(0x1p31) && x > W(-0x1p31) ? x : W(-100);
}

template <typename W>
W reflected(W x, W low, W high) {
  if (high <= low) return 0;
  const W span = high - low;
  x = std::abs(x - low);
  const W rest = std::fmod(x, span);
  return static_cast<int64_t>(std::floor(x / span)) % 2 == 0 ? rest + low : span - rest + low;
}

template <typename W>
struct Axis {
  int64_t size;
  Padding padding;
  bool align_corners;

  W unnormalized(W x) const {
    const W n = static_cast<W>(size);
    return align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  }
  // Moves a position into the image as `padding` requires.
  W padded_position(W x) const {
    const W last = static_cast<W>(size - 1);
    if (padding == kReflection) x = align_corners ? reflected<W>(x, 0, last) : reflected<W>(x, W(-0.5), last + W(0.5));
    if (padding != kZeros) x = std::isnan(x) ? W(0) : std::clamp(x, W(0), last);
    return finite_position(x);
  }
};

constexpr int kMaxTaps = 16;

// Elements of a plane and their weights. The weighted sum of the elements is a result.
template <typename W>
struct Taps {
  int64_t offsets[kMaxTaps];  // or -1 outside of the image
  W weights[kMaxTaps];
};

inline int64_t offset_of(const ImageLayout& image, const int64_t (&at)[3]) {
  int64_t offset = 0;
  for (int i = 0; i < 3; ++i) {
    if (at[i] < 0 || at[i] >= image.size[i]) return -1;
    offset += at[i] * image.stride[i];
  }
  return offset;
}

template <typename W>
void cubic_weights(W t, W (&weights)[4]) {
  const W a = W(-0.75);
  const auto near = [a](W x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [a](W x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  weights[0] = far(t + 1);
  weights[1] = near(t);
  weights[2] = near(1 - t);
  weights[3] = far(2 - t);
}

// Returns the number of taps. `x` has the positions along the axes of the image, unnormalized and before padding; axes
// that the image does not have are 0. For bicubic interpolation, the weights are column weights for each line, and `wy`
// are the line weights.
template <typename W>
int find_taps(const ImageLayout& image, const Axis<W> (&axes)[3], int first, int64_t interpolation, const W (&x)[3],
              Taps<W>* taps, W (&wy)[4]) {
  int64_t at[3] = {0, 0, 0};
  if (interpolation == 1) {
    for (int i = first; i < 3; ++i) at[i] = static_cast<int64_t>(std::nearbyint(axes[i].padded_position(x[i])));
    taps->offsets[0] = offset_of(image, at);
    taps->weights[0] = 1;
    return 1;
  }
  if (interpolation == 0) {
    W base[3] = {0, 0, 0}, fraction[3] = {0, 0, 0};
    for (int i = first; i < 3; ++i) {
      const W position = axes[i].padded_position(x[i]);
      base[i] = std::floor(position);
      fraction[i] = position - base[i];
    }
    const int corners = 1 << (3 - first);
    for (int corner = 0; corner < corners; ++corner) {
      W weight = 1;
      for (int i = first; i < 3; ++i) {
        const int step = corner >> (2 - i) & 1;
        at[i] = static_cast<int64_t>(base[i]) + step;
        weight *= step ? fraction[i] : 1 - fraction[i];
      }
      taps->offsets[corner] = offset_of(image, at);
      taps->weights[corner] = weight;
    }
    return corners;
  }
  W wx[4];
  const W by = std::floor(finite_position(x[1])), bx = std::floor(finite_position(x[2]));
  cubic_weights(finite_position(x[1]) - by, wy);
  cubic_weights(finite_position(x[2]) - bx, wx);
  for (int i = 0; i < 4; ++i) {
    at[1] = static_cast<int64_t>(axes[1].padded_position(by + static_cast<W>(i - 1)));
    for (int j = 0; j < 4; ++j) {
      at[2] = static_cast<int64_t>(axes[2].padded_position(bx + static_cast<W>(j - 1)));
      taps->offsets[4 * i + j] = offset_of(image, at);
      taps->weights[4 * i + j] = wx[j];
    }
  }
  return 16;
}

// Returns the sum of the products of taps [first, first + Count).
template <int Count, typename T, typename W>
W sum_of(const T* plane, const Taps<W>& taps, int first = 0) {
  W sum = 0;
  for (int i = first; i < first + Count; ++i) {
    sum += taps.weights[i] * (taps.offsets[i] < 0 ? W(0) : static_cast<W>(plane[taps.offsets[i]]));
  }
  return sum;
}

template <typename T, typename W>
W value_of(const T* plane, const Taps<W>& taps, int count, const W (&wy)[4]) {
  if (count == 1) return taps.offsets[0] < 0 ? W(0) : static_cast<W>(plane[taps.offsets[0]]);
  if (count == 4) return sum_of<4>(plane, taps);
  if (count == 8) return sum_of<8>(plane, taps);
  W sum = 0;
  for (int i = 0; i < 4; ++i) sum += wy[i] * sum_of<4>(plane, taps, 4 * i);
  return sum;
}

// Checks the arguments, and resizes the output. Returns false after a failure.
bool prepare(KernelRuntimeContext& context, const Tensor& in, const Tensor& grid, int64_t dims, int64_t interpolation,
             int64_t padding, Tensor& out) {
  const bool fits =
      in.dim() == dims + 2 && grid.dim() == dims + 2 && grid.size(dims + 1) == dims && grid.size(0) == in.size(0);
  if (!fits) {
    context.fail(Error::InvalidArgument, "a grid with %lld coordinates per point does not match the shape of the image",
                 static_cast<long long>(grid.dim() > 0 ? grid.size(grid.dim() - 1) : 0));
    return false;
  }
  if (interpolation < 0 || interpolation > (dims == 2 ? 2 : 1) || padding < 0 || padding > 2) {
    context.fail(Error::InvalidArgument, "interpolation mode %lld with padding mode %lld is not supported",
                 static_cast<long long>(interpolation), static_cast<long long>(padding));
    return false;
  }
  Shape shape;
  shape.push(in.size(0));
  shape.push(in.size(1));
  for (int64_t i = 0; i < dims; ++i) {
    if (in.size(2 + i) == 0) {
      context.fail(Error::InvalidArgument, "the image has no elements");
      return false;
    }
    shape.push(grid.size(1 + i));
  }
  return require_same_dtype(context, in, grid) && require_same_dtype(context, in, out) &&
         resize_out(context, out, shape.span());
}

// Consecutive points of a grid. Their positions are computed once for all channels.
template <typename W>
struct Points {
  static constexpr int64_t kMost = 16;  // the elements of a plane stay in cache
  Taps<W> taps[kMost];
  W wy[kMost][4];
  int64_t to[kMost];  // offsets in the output, in the first channel
  int64_t length = 0;
  int count = 0;  // taps of each point

  // Reads point `i` of the grid into place `at`; i is the position in the row-major volume of image `n`.
  template <typename T>
  void read(const ImageLayout& image, const Axis<W> (&axes)[3], const Tensor& grid, int64_t interpolation,
            const ImageLayout& result, int64_t n, int64_t i, int64_t at) {
    const int64_t dims = grid.dim() - 2, first = 3 - dims;
    const T* point = grid.const_data_ptr<T>() + n * grid.stride(0);
    to[at] = n * result.batch_stride;
    for (int64_t axis = 2; axis >= first; --axis) {
      const int64_t position = i % result.size[axis];
      i /= result.size[axis];
      point += position * grid.stride(1 + axis - first);
      to[at] += position * result.stride[axis];
    }
    W x[3] = {0, 0, 0};
    for (int64_t d = 0; d < dims; ++d) {
      x[2 - d] = axes[2 - d].unnormalized(static_cast<W>(point[d * grid.stride(dims + 1)]));
    }
    count = find_taps(image, axes, static_cast<int>(first), interpolation, x, &taps[at], wy[at]);
  }
};

}  // namespace

void grid_sample(KernelRuntimeContext& context, const Tensor& in, const Tensor& grid, int64_t dims,
                 int64_t interpolation, int64_t padding, bool align_corners, Tensor& out) {
  if (!prepare(context, in, grid, dims, interpolation, padding, out)) return;
  const ImageLayout image(in, dims), result(out, dims);
  switch_dtype<dtypes::kFloatH>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
    Axis<W> axes[3];
    for (int i = 0; i < 3; ++i) axes[i] = {image.size[i], static_cast<Padding>(padding), align_corners};
    const int64_t volume = result.volume(), work = 32 + 8 * image.channels;
    const int64_t grain = std::max<int64_t>(1, 32768 / work);
    context.parallel_for(0, image.batch * volume, grain, [&](int64_t begin, int64_t end) {
      Points<W> points;
      for (int64_t next = begin; next < end; next += points.length) {
        const int64_t n = next / volume;
        points.length = std::min({Points<W>::kMost, end - next, (n + 1) * volume - next});
        for (int64_t i = 0; i < points.length; ++i) {
          points.template read<T>(image, axes, grid, interpolation, result, n, next + i - n * volume, i);
        }
        const T* plane = in.const_data_ptr<T>() + n * image.batch_stride;
        T* target = out.mutable_data_ptr<T>();
        for (int64_t c = 0; c < image.channels; ++c, plane += image.channel_stride, target += result.channel_stride) {
          for (int64_t i = 0; i < points.length; ++i) {
            target[points.to[i]] = static_cast<T>(value_of(plane, points.taps[i], points.count, points.wy[i]));
          }
        }
      }
    });
  });
}

}  // namespace rushlight
