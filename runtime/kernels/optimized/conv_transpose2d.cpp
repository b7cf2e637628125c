#include <algorithm>
#include <numeric>

#include "kernels/optimized/conv2d.h"

namespace rushlight::optimized {

namespace {

// The taps along one axis that contribute to the outputs phase, phase + stride, ...: `count` taps from `first` in steps
// of `step`. These outputs are a convolution of the input with the taps in reverse order.
struct Phase {
  int64_t first, step, count;
  int64_t dilation, pad;
  int64_t outputs;
};

Phase phase_of(int64_t phase, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, int64_t out_size) {
  const int64_t divisor = std::gcd(stride, dilation);
  Phase p{
      0, stride / divisor, 0, dilation / divisor, 0, out_size > phase ? (out_size - phase + stride - 1) / stride : 0};
  while (p.first < kernel && (phase + pad - p.first * dilation) % stride != 0) ++p.first;
  p.count = p.first < kernel ? (kernel - p.first + p.step - 1) / p.step : 0;
  p.pad = (p.count - 1) * p.dilation - (phase + pad - p.first * dilation) / stride;
  return p;
}

// Copies weights [channels, outputs / groups, kernel...] to [outputs, channels / groups, reversed taps of the phases].
void gather_weights(const Conv2d& c, const Phase& py, const Phase& px, float* to) {
  const int64_t outputs = c.outputs / c.groups;
  const int64_t channels = c.channels / c.groups;
  for (int64_t o = 0; o < c.outputs; ++o) {
    for (int64_t i = 0; i < channels; ++i) {
      const int64_t channel = o / outputs * channels + i;
      const float* from = c.weight + (channel * outputs + o % outputs) * c.kernel_h * c.kernel_w;
      for (int64_t y = py.count - 1; y >= 0; --y) {
        for (int64_t x = px.count - 1; x >= 0; --x) {
          *to++ = from[(py.first + y * py.step) * c.kernel_w + px.first + x * px.step];
        }
      }
    }
  }
}

// Copies the output rows of one phase to their places between the rows and columns of the other phases.
void scatter(KernelRuntimeContext& context, const Conv2d& c, const float* from, int64_t phase_y, int64_t phase_x,
             int64_t rows, int64_t columns) {
  context.parallel_for(0, c.batch * c.outputs * rows, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t y = i % rows * c.stride_h + phase_y;
      float* to = c.out + (i / rows * c.out_height + y) * c.out_width + phase_x;
      const float* row = from + i * columns;
      for (int64_t x = 0; x < columns; ++x) to[x * c.stride_w] = row[x];
    }
  });
}

}  // namespace

bool conv_transpose2d(KernelRuntimeContext& context, const Conv2d& c) {
  const int64_t rows = (c.out_height + c.stride_h - 1) / c.stride_h;
  const int64_t columns = (c.out_width + c.stride_w - 1) / c.stride_w;
  const int64_t taps = c.kernel_h * c.kernel_w;
  const int64_t planes = c.batch * c.outputs;
  float* weights =
      context.allocate_temporary_array<float>(static_cast<size_t>(c.outputs * c.channels / c.groups * taps));
  float* result = context.allocate_temporary_array<float>(static_cast<size_t>(planes * rows * columns));
  if (weights == nullptr || result == nullptr) return false;
  for (int64_t phase_y = 0; phase_y < c.stride_h; ++phase_y) {
    const Phase py = phase_of(phase_y, c.kernel_h, c.stride_h, c.pad_h, c.dilation_h, c.out_height);
    for (int64_t phase_x = 0; phase_x < c.stride_w; ++phase_x) {
      const Phase px = phase_of(phase_x, c.kernel_w, c.stride_w, c.pad_w, c.dilation_w, c.out_width);
      if (py.outputs * px.outputs == 0) continue;
      if (py.count * px.count == 0) {
        for (int64_t i = 0; i < planes; ++i) {
          const float value = c.bias ? c.bias[i % c.outputs] : 0.0f;
          std::fill_n(result + i * py.outputs * px.outputs, py.outputs * px.outputs, value);
        }
      } else {
        gather_weights(c, py, px, weights);
        Conv2d part = c;
        part.out_height = py.outputs, part.out_width = px.outputs;
        part.kernel_h = py.count, part.kernel_w = px.count;
        part.stride_h = part.stride_w = 1;
        part.pad_h = py.pad, part.pad_w = px.pad;
        part.dilation_h = py.dilation, part.dilation_w = px.dilation;
        part.weight = weights;
        part.out = result;
        if (!conv2d(context, part)) return false;
      }
      scatter(context, c, result, phase_y, phase_x, py.outputs, px.outputs);
    }
  }
  return true;
}

}  // namespace rushlight::optimized
