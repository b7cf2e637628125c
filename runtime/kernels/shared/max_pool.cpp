#include <algorithm>
#include <limits>

#include "kernels/shared/axes.h"
#include "kernels/shared/build_mode.h"
#include "kernels/shared/cortex_m.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/index_loop.h"
#include "kernels/shared/pooling.h"

namespace rushlight {
namespace {

template <typename T>
T lowest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return T(-std::numeric_limits<float>::infinity());
  }
}

// The positions begin[i], begin[i] + step[i], ... below end[i] of a plane of an image.
struct Box {
  int64_t begin[3], end[3], step[3];
};

// Writes the maximum of a box, or NaN if there is one. Returns the position of its first occurrence in the plane.
template <typename T>
int64_t maximum_of_box(const ImageLayout& image, const Box& box, const void* plane, void* to) {
  const int64_t x0 = box.begin[2], x1 = box.end[2], step = box.step[2], stride = step * image.stride[2];
  T best = lowest<T>();
  int64_t position_of_best = (box.begin[0] * image.size[1] + box.begin[1]) * image.size[2] + x0;
  for (int64_t z = box.begin[0]; z < box.end[0]; z += box.step[0]) {
    for (int64_t y = box.begin[1]; y < box.end[1]; y += box.step[1]) {
      const T* from = static_cast<const T*>(plane) + z * image.stride[0] + y * image.stride[1] + x0 * image.stride[2];
      const int64_t row = (z * image.size[1] + y) * image.size[2];
      for (int64_t x = x0; x < x1; x += step, from += stride) {
        const T value = *from;
        if (value > best || value != value) {
          best = value;
          position_of_best = row + x;
        }
      }
    }
  }
  *static_cast<T*>(to) = best;
  return position_of_best;
}

using MaximumOfBox = int64_t (*)(const ImageLayout&, const Box&, const void*, void*);

// Computes the maximum of every box. `box_of(position, box)` receives the position in the spatial dimensions.
template <typename BoxOf>
void maximum_of_boxes(KernelRuntimeContext& context, const Tensor& in, int64_t dims, int64_t work, const Tensor& out,
                      const Tensor& indices, const BoxOf& box_of) {
  MaximumOfBox maximum = nullptr;
  switch_dtype<dtypes::kRealH>(context, in.scalar_type(),
                               [&](auto tag) { maximum = &maximum_of_box<typename decltype(tag)::type>; });
  if (maximum == nullptr) return;
  const ImageLayout image(in, dims);
  const int64_t channel = out.dim() - dims - 1, size = static_cast<int64_t>(in.element_size());
  for_each_index(context, out, work, [&](const int64_t* index, int64_t offset) {
    const int64_t plane = (channel > 0 ? index[0] * image.batch_stride : 0) + index[channel] * image.channel_stride;
    Box box;
    box_of(index + channel + 1, box);
    const int64_t position_of_best = maximum(image, box, in.const_data_ptr<uint8_t>() + plane * size,
                                             out.mutable_data_ptr<uint8_t>() + offset * size);
    int64_t at = 0;
    for (int64_t i = 0; i < indices.dim(); ++i) at += index[i] * indices.stride(i);
    indices.mutable_data_ptr<int64_t>()[at] = position_of_best;
  });
}

// Whether the results of a line are computed together. Otherwise they are computed one at a time.
constexpr bool kHasLines = !kIsForSize;
constexpr int64_t kBlock = 64;  // results of a line that are computed at a time

// A part of a line of results. The window of the i-th result begins at position begin[2] + i * window_step of the last
// spatial dim. Its elements are i * step elements after those of the first result.
struct Line {
  int64_t begin[3];
  int64_t window_step, step, n;
};

// Returns the first position at or after `begin` that is not negative, in steps of `dilation`.
int64_t first_inside(int64_t begin, int64_t dilation) {
  return begin < 0 ? begin + (dilation - 1 - begin) / dilation * dilation : begin;
}

// Computes the maxima of a line, and their positions in the plane, as maximum_of_box() does. One loop computes all
// results for a tap of the window.
template <typename T>
void maxima_of_line(const ImageLayout& image, const Window3d& w, const Line& line, const void* plane, void* to,
                    int64_t* positions) {
  T best[kBlock];
  std::fill_n(best, line.n, lowest<T>());
  std::fill_n(positions, line.n, -1);
  const auto is_inside = [&](int dim, int64_t at) { return at >= 0 && at < image.size[dim]; };
  for (int64_t k = 0; k < w.taps(); ++k) {
    const int64_t z = line.begin[0] + k / (w.kernel[1] * w.kernel[2]) * w.dilation[0];
    const int64_t y = line.begin[1] + k / w.kernel[2] % w.kernel[1] * w.dilation[1];
    const int64_t x = line.begin[2] + k % w.kernel[2] * w.dilation[2];
    int64_t begin = 0, end = line.n;
    if (!is_inside(0, z) || !is_inside(1, y)) continue;
    if (line.window_step > 0) {
      if (x < 0) begin = (line.window_step - 1 - x) / line.window_step;
      end = x < image.size[2] ? std::min(end, (image.size[2] - 1 - x) / line.window_step + 1) : 0;
    } else if (!is_inside(2, x)) {
      continue;
    }
    const T* const from =
        static_cast<const T*>(plane) + z * image.stride[0] + y * image.stride[1] + x * image.stride[2];
    const int64_t position = (z * image.size[1] + y) * image.size[2] + x;
    for (int64_t i = begin; i < end; ++i) {
      const T value = from[i * line.step];
      // Without branches, because they would be as random as the elements.
      const int replaces =
          static_cast<int>(value > best[i]) | static_cast<int>(value != value) | static_cast<int>(positions[i] < 0);
      const T choices[] = {best[i], value};
      best[i] = choices[replaces];
      positions[i] += (position + i * line.window_step - positions[i]) & -static_cast<int64_t>(replaces);
    }
  }
  for (int64_t i = 0; i < line.n; ++i) {
    if (positions[i] >= 0) continue;
    const int64_t x = line.begin[2] + i * line.window_step;  // the window has no element
    positions[i] =
        (first_inside(line.begin[0], w.dilation[0]) * image.size[1] + first_inside(line.begin[1], w.dilation[1])) *
            image.size[2] +
        first_inside(x, w.dilation[2]);
  }
  std::copy_n(best, line.n, static_cast<T*>(to));
}

using MaximaOfLine = void (*)(const ImageLayout&, const Window3d&, const Line&, const void*, void*, int64_t*);

bool require_long(KernelRuntimeContext& context, const Tensor& indices) {
  if (indices.scalar_type() == ScalarType::Long) return true;
  context.fail(Error::InvalidArgument, "indices are %s, not int64", dtype_name(indices.scalar_type()));
  return false;
}

// Computes 8-bit maxima with the loops for Cortex-M. Returns false if they do not support the arguments.
[[maybe_unused]] bool max_pool_on_cortex_m(const Pooling& pooling, const Tensor& in, Tensor& out, Tensor& indices) {
  cortex_m::Int8Maxima maxima;
  if (in.element_size() != 1 || pooling.dims > 2 || !cortex_m_window(pooling.window, &maxima.window)) return false;
  cortex_m_shape(in, pooling.dims, &maxima.in);
  cortex_m_shape(out, pooling.dims, &maxima.out);
  cortex_m_shape(indices, pooling.dims, &maxima.indices);
  maxima.sign_mask = cortex_m_sign_mask(in);
  cortex_m::max_pool(maxima, in.const_data_ptr<uint8_t>(), out.mutable_data_ptr<uint8_t>(),
                     indices.mutable_data_ptr<int64_t>());
  return true;
}

// Computes the results one at a time.
[[maybe_unused]] void max_pool_by_boxes(KernelRuntimeContext& context, const Pooling& pooling, const Tensor& in,
                                        const Tensor& out, const Tensor& indices) {
  const ImageLayout image(in, pooling.dims);
  const Window3d& w = pooling.window;
  const int64_t missing = 3 - pooling.dims;
  maximum_of_boxes(context, in, pooling.dims, w.taps(), out, indices, [&](const int64_t* position, Box& box) {
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t begin = i < missing ? 0 : position[i - missing] * w.stride[i] - w.padding[i];
      box.begin[i] = first_inside(begin, w.dilation[i]);
      box.end[i] = std::min(begin + (w.kernel[i] - 1) * w.dilation[i] + 1, image.size[i]);
      box.step[i] = w.dilation[i];
    }
  });
}

// Computes the results of a line together, except if the line is along a spatial dim that is not the last one.
[[maybe_unused]] void max_pool_by_lines(KernelRuntimeContext& context, const Pooling& pooling, const Tensor& in,
                                        const Tensor& out, const Tensor& indices) {
  MaximaOfLine maxima = nullptr;
  switch_dtype<dtypes::kRealH>(context, in.scalar_type(),
                               [&](auto tag) { maxima = &maxima_of_line<typename decltype(tag)::type>; });
  if (maxima == nullptr || out.numel() == 0) return;
  const ImageLayout image(in, pooling.dims);
  const Window3d& w = pooling.window;
  const int64_t channel = out.dim() - pooling.dims - 1, missing = 3 - pooling.dims;
  const auto size = static_cast<int64_t>(in.element_size());
  for_each_line(context, out, w.taps(), [&](const int64_t* index, int axis, int64_t offset, int64_t count) {
    int64_t plane = (channel > 0 ? index[0] * image.batch_stride : 0) + index[channel] * image.channel_stride;
    int64_t positions_at = 0;
    for (int64_t i = 0; i < indices.dim(); ++i) positions_at += index[i] * indices.stride(i);
    // The spatial dim of the line. It is -1 for a line of channels or images, which have the same window.
    const int64_t dim = axis > channel ? axis - channel - 1 + missing : -1;
    Line line{{0, 0, 0}, 0, 0, 0};
    for (int64_t i = missing; i < 3; ++i) line.begin[i] = index[channel + 1 + i - missing] * w.stride[i] - w.padding[i];
    line.window_step = dim == 2 ? w.stride[2] : 0;
    line.step = dim == 2 ? w.stride[2] * image.stride[2] : axis == channel ? image.channel_stride : image.batch_stride;
    for (int64_t done = 0; done < count; done += line.n) {
      line.n = dim == 0 || dim == 1 ? 1 : std::min(kBlock, count - done);
      int64_t positions[kBlock];
      maxima(image, w, line, in.const_data_ptr<uint8_t>() + plane * size,
             out.mutable_data_ptr<uint8_t>() + (offset + done) * size, positions);
      for (int64_t i = 0; i < line.n; ++i) {
        indices.mutable_data_ptr<int64_t>()[positions_at + (done + i) * indices.stride(axis)] = positions[i];
      }
      if (dim >= 0) {
        line.begin[dim] += line.n * w.stride[dim];
      } else {
        plane += line.n * line.step;
      }
    }
  });
}

}  // namespace

void max_pool(KernelRuntimeContext& context, const Pooling& pooling, const Tensor& in, Tensor& out, Tensor& indices) {
  Shape shape;
  if (!pooled_shape(context, pooling, in, &shape) || !require_same_dtype(context, in, out) ||
      !require_long(context, indices) || !resize_out(context, out, shape.span()) ||
      !resize_out(context, indices, shape.span())) {
    return;
  }
  if constexpr (cortex_m::kHasInt8) {
    if (max_pool_on_cortex_m(pooling, in, out, indices)) return;
  }
  if constexpr (kHasLines) {
    max_pool_by_lines(context, pooling, in, out, indices);
  } else {
    max_pool_by_boxes(context, pooling, in, out, indices);
  }
}

void adaptive_max_pool(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size, Tensor& out,
                       Tensor& indices) {
  Shape shape;
  if (!adaptive_shape(context, in, output_size, &shape) || !require_same_dtype(context, in, out)) return;
  if (!require_long(context, indices)) return;
  if (!resize_out(context, out, shape.span()) || !resize_out(context, indices, shape.span())) return;
  const int64_t dims = static_cast<int64_t>(output_size.size()), missing = 3 - dims;
  const ImageLayout image(in, dims);
  maximum_of_boxes(context, in, dims, 16, out, indices, [&](const int64_t* position, Box& box) {
    for (int64_t i = 0; i < 3; ++i) {
      box.begin[i] = 0, box.end[i] = 1, box.step[i] = 1;
      if (i < missing) continue;
      const int64_t count = output_size[static_cast<size_t>(i - missing)];
      adaptive_range(position[i - missing], image.size[i], count, box.begin + i, box.end + i);
    }
  });
}

}  // namespace rushlight
