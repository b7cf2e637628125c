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
// The integers next to a returned position are in this range, too.
template <typename W>
W finite_position(W x) {
  return x < W(0x1p31 - 8) && x > W(8 - 0x1p31) ? x : W(-100);
}

// Returns the largest integer that is not above x. std::floor() and std::nearbyint() are calls on some processors.
template <typename W>
int32_t floor_of(W x) {
  const int32_t whole = static_cast<int32_t>(x);
  return whole - (static_cast<W>(whole) > x ? 1 : 0);
}

// Returns the nearest integer, or the even one of two.
template <typename W>
int32_t nearest_to(W x) {
  const int32_t low = floor_of(x);
  const W rest = x - static_cast<W>(low);
  return low + (rest > W(0.5) || (rest == W(0.5) && low % 2 != 0) ? 1 : 0);
}

template <typename W>
W reflected(W x, W low, W high) {
  if (high <= low) return 0;
  const W span = high - low;
  x = std::abs(x - low);
  if (x < span) return x + low;
  const W rest = std::fmod(x, span);
  const W turns = std::floor(x / span);  // numbers from 2^53 on are even
  return !(turns < W(int64_t{1} << 53)) || static_cast<int64_t>(turns) % 2 == 0 ? rest + low : span - rest + low;
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

constexpr int64_t kMostPoints = 16;  // the elements of a plane that so many points read stay in cache
constexpr int kMaxTaps = 16;

// The elements along one axis of an image that each point reads.
template <typename W>
struct AxisTaps {
  int64_t offsets[4][kMostPoints];  // or -1 outside of the image
  W weights[4][kMostPoints];
};

template <typename W>
struct Axis {
  int64_t size, stride;
  Padding padding;
  bool align_corners;

  // Sets the offsets of tap `tap`, for given positions of elements. The weights of elements outside are set to 0.
  void set_offsets(const int32_t (&at)[kMostPoints], int tap, AxisTaps<W>* taps) const {
    const auto length = static_cast<uint32_t>(size);
    for (int64_t i = 0; i < kMostPoints; ++i) {
      const bool inside = static_cast<uint32_t>(at[i]) < length;
      taps->offsets[tap][i] = (at[i] * stride) | (int64_t{inside} - 1);
      taps->weights[tap][i] = inside ? taps->weights[tap][i] : W(0);
    }
  }

  void unnormalize(W (&x)[kMostPoints]) const {
    const W n = static_cast<W>(size);
    if (align_corners) {
      for (W& at : x) at = (at + 1) / 2 * (n - 1);
    } else {
      for (W& at : x) at = ((at + 1) * n - 1) / 2;
    }
  }

  // Moves positions into the image as `padding` requires.
  void pad(W (&x)[kMostPoints]) const {
    const W last = static_cast<W>(size - 1);
    if (padding == kReflection) {
      for (W& at : x) at = align_corners ? reflected<W>(at, 0, last) : reflected<W>(at, W(-0.5), last + W(0.5));
    }
    if (padding != kZeros) {
      for (W& at : x) at = at >= 0 ? (at < last ? at : last) : W(0);  // 0 for NaN
    }
    for (W& at : x) at = finite_position(at);
  }

  // Finds the taps of positions, which are unnormalized and may be outside of the image.
  void find_taps(int64_t interpolation, W (&x)[kMostPoints], AxisTaps<W>* taps) const {
    int32_t base[kMostPoints];
    if (interpolation == 2) {
      for (W& at : x) at = finite_position(at);
    } else {
      pad(x);
    }
    if (interpolation == 1) {
      for (int64_t i = 0; i < kMostPoints; ++i) base[i] = nearest_to(x[i]);
      return set_offsets(base, 0, taps);
    }
    for (int64_t i = 0; i < kMostPoints; ++i) {
      base[i] = floor_of(x[i]);
      x[i] -= static_cast<W>(base[i]);
    }
    if (interpolation == 0) {
      for (int64_t i = 0; i < kMostPoints; ++i) {
        taps->weights[0][i] = 1 - x[i];
        taps->weights[1][i] = x[i];
      }
      set_offsets(base, 0, taps);
      for (int32_t& at : base) ++at;
      return set_offsets(base, 1, taps);
    }
    for (int64_t i = 0; i < kMostPoints; ++i) {
      W weights[4];
      cubic_weights(x[i], weights);
      for (int tap = 0; tap < 4; ++tap) taps->weights[tap][i] = weights[tap];
    }
    for (int tap = 0; tap < 4; ++tap) {
      int32_t at[kMostPoints];
      for (int64_t i = 0; i < kMostPoints; ++i) x[i] = static_cast<W>(base[i]) + static_cast<W>(tap - 1);
      pad(x);
      for (int64_t i = 0; i < kMostPoints; ++i) at[i] = static_cast<int32_t>(x[i]);
      set_offsets(at, tap, taps);
    }
  }
};

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
  // Elements of a plane and their weights. The weighted sum of the elements is a result. Outside of the image, weight
  // and offset are 0. Bicubic interpolation has column weights for each line, and the line weights `wy`.
  int64_t offsets[kMaxTaps][kMostPoints];
  W weights[kMaxTaps][kMostPoints];
  int64_t outside[kMostPoints];  // a bit for each tap
  AxisTaps<W> axis_taps[3] = {};
  int64_t to[kMostPoints];  // offsets in the output, in the first channel
  int64_t length = 0;
  int count = 0;  // taps of each point

  // Reads the next `length` points, from the point `i` in the row-major volume of image `n` on.
  template <typename T>
  void read(const Tensor& grid, const ImageLayout& result, int64_t n, int64_t i, W (&x)[3][kMostPoints]) {
    const int64_t dims = grid.dim() - 2, step = grid.stride(dims + 1), first = 3 - dims;
    int64_t at[3], strides[3];
    for (int64_t axis = 2; axis >= 0; --axis) {
      at[axis] = i % result.size[axis];
      i /= result.size[axis];
      strides[axis] = axis >= first ? grid.stride(1 + axis - first) : 0;
    }
    const T* from = nullptr;
    int64_t target = 0;
    for (int64_t point = 0; point < length; ++point, from += strides[2], target += result.stride[2]) {
      if (from == nullptr || at[2] == result.size[2]) {
        if (from != nullptr) at[2] = 0, ++at[1];
        if (at[1] == result.size[1]) at[1] = 0, ++at[0];
        from = grid.const_data_ptr<T>() + n * grid.stride(0) + at[0] * strides[0] + at[1] * strides[1] +
               at[2] * strides[2];
        target =
            n * result.batch_stride + at[0] * result.stride[0] + at[1] * result.stride[1] + at[2] * result.stride[2];
      }
      for (int64_t axis = 2; axis >= first; --axis) x[axis][point] = static_cast<W>(from[(2 - axis) * step]);
      to[point] = target;
      ++at[2];
    }
  }

  // Finds the taps of points with the given coordinates along the axes from `first` on.
  void find_taps(const Axis<W> (&axes)[3], int first, int64_t interpolation, W (&x)[3][kMostPoints]) {
    for (int axis = first; axis < 3; ++axis) {
      axes[axis].unnormalize(x[axis]);
      axes[axis].find_taps(interpolation, x[axis], &axis_taps[axis]);
    }
    const int bits = interpolation == 2 ? 2 : interpolation == 0 ? 1 : 0;
    count = 1 << bits * (3 - first);
    std::fill(outside, outside + kMostPoints, 0);
    for (int tap = 0; tap < count; ++tap) {
      const auto part = [&](int axis) { return tap >> bits * (2 - axis) & ((1 << bits) - 1); };
      const int64_t *const a = axis_taps[2].offsets[part(2)], *const b = axis_taps[1].offsets[part(1)];
      const int64_t* const c = axis_taps[0].offsets[part(0)];
      for (int64_t i = 0; i < kMostPoints; ++i) {
        const int64_t sign = (a[i] | b[i] | c[i]) >> 63;
        offsets[tap][i] = (a[i] + b[i] + c[i]) & ~sign;
        outside[i] |= sign & (1 << tap);
      }
      if (interpolation == 1) continue;
      W* const product = weights[tap];
      std::copy(axis_taps[2].weights[part(2)], axis_taps[2].weights[part(2)] + kMostPoints, product);
      for (int axis = 1; axis >= first && interpolation == 0; --axis) {
        const W* const factors = axis_taps[axis].weights[part(axis)];
        for (int64_t i = 0; i < kMostPoints; ++i) product[i] *= factors[i];
      }
    }
  }

  // Returns the weighted sum of taps [tap, tap + 4) of point `i`.
  template <typename T>
  W sum_of(const T* plane, int tap, int64_t i) const {
    const auto product = [&](int k) { return weights[tap + k][i] * static_cast<W>(plane[offsets[tap + k][i]]); };
    return W(0) + product(0) + product(1) + product(2) + product(3);
  }

  // Does the same without the taps outside of the image.
  template <typename T>
  W inside_sum(const T* plane, int tap, int64_t i) const {
    W sum = 0;
    for (int k = tap; k < tap + 4; ++k) {
      sum += outside[i] >> k & 1 ? W(0) : weights[k][i] * static_cast<W>(plane[offsets[k][i]]);
    }
    return sum;
  }

  // Writes the elements of one channel.
  template <typename T>
  void write(const T* plane, T* target) const {
    for (int64_t i = 0; i < length && count == 1; ++i) target[to[i]] = outside[i] ? T(0) : plane[offsets[0][i]];
    if (count == 1) return;
    const bool is_cubic = count == kMaxTaps;
    const auto factor = [&](int tap, int64_t i) { return is_cubic ? axis_taps[1].weights[tap / 4][i] : W(1); };
    for (int64_t i = 0; i < length; ++i) {
      W sum = 0;
      for (int tap = 0; tap < count; tap += 4) sum += factor(tap, i) * sum_of(plane, tap, i);
      // An infinity or NaN may come from an element that stands for one outside of the image.
      if (outside[i] != 0 && !(sum - sum == 0)) {
        sum = 0;
        for (int tap = 0; tap < count; tap += 4) sum += factor(tap, i) * inside_sum(plane, tap, i);
      }
      target[to[i]] = static_cast<T>(sum);
    }
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
    for (int i = 0; i < 3; ++i)
      axes[i] = {image.size[i], image.stride[i], static_cast<Padding>(padding), align_corners};
    const int64_t volume = result.volume(), work = 32 + 8 * image.channels;
    const int64_t grain = std::max<int64_t>(1, 32768 / work);
    context.parallel_for(0, image.batch * volume, grain, [&](int64_t begin, int64_t end) {
      Points<W> points;
      W x[3][kMostPoints] = {};
      for (int64_t next = begin; next < end; next += points.length) {
        const int64_t n = next / volume;
        points.length = std::min({kMostPoints, end - next, (n + 1) * volume - next});
        points.template read<T>(grid, result, n, next - n * volume, x);
        points.find_taps(axes, static_cast<int>(3 - dims), interpolation, x);
        const T* plane = in.const_data_ptr<T>() + n * image.batch_stride;
        T* target = out.mutable_data_ptr<T>();
        for (int64_t c = 0; c < image.channels; ++c, plane += image.channel_stride, target += result.channel_stride) {
          points.write(plane, target);
        }
      }
    });
  });
}

}  // namespace rushlight
