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
void gather_weights(const Conv2d& c, const Phase& pz, const Phase& py, const Phase& px, float* to) {
  const int64_t outputs = c.outputs / c.groups;
  const int64_t channels = c.channels / c.groups;
  for (int64_t o = 0; o < c.outputs; ++o) {
    for (int64_t i = 0; i < channels; ++i) {
      const int64_t channel = o / outputs * channels + i;
      const float* from = c.weight + (channel * outputs + o % outputs) * c.kernel_d * c.taps();
      for (int64_t z = pz.count - 1; z >= 0; --z) {
        for (int64_t y = py.count - 1; y >= 0; --y) {
          const int64_t line = (pz.first + z * pz.step) * c.kernel_h + py.first + y * py.step;
          for (int64_t x = px.count - 1; x >= 0; --x) *to++ = from[line * c.kernel_w + px.first + x * px.step];
        }
      }
    }
  }
}

// Copies the output rows of the phases (z, y, x) to their places between the frames, rows and columns of the others.
void scatter(KernelRuntimeContext& context, const Conv2d& c, const Conv2d& part, int64_t z, int64_t y, int64_t x) {
  const int64_t rows = part.out_height, columns = part.out_width, frames = part.out_depth;
  context.parallel_for(0, c.batch * c.outputs * frames * rows, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t plane = i / rows / frames * c.out_depth + i / rows % frames * c.stride_d + z;
      float* to = c.out + (plane * c.out_height + i % rows * c.stride_h + y) * c.out_width + x;
      const float* row = part.out + i * columns;
      for (int64_t k = 0; k < columns; ++k) to[k * c.stride_w] = row[k];
    }
  });
}

// Computes the outputs of one phase of each axis. `part` has scratch memory for the weights and the outputs.
bool compute_phases(KernelRuntimeContext& context, const Conv2d& c, int64_t z, int64_t y, int64_t x, float* weights,
                    Conv2d part) {
  const Phase pz = phase_of(z, c.kernel_d, c.stride_d, c.pad_d, c.dilation_d, c.out_depth);
  const Phase py = phase_of(y, c.kernel_h, c.stride_h, c.pad_h, c.dilation_h, c.out_height);
  const Phase px = phase_of(x, c.kernel_w, c.stride_w, c.pad_w, c.dilation_w, c.out_width);
  part.out_depth = pz.outputs, part.out_height = py.outputs, part.out_width = px.outputs;
  const int64_t size = pz.outputs * py.outputs * px.outputs;
  if (size == 0) return true;
  if (pz.count * py.count * px.count == 0) {
    for (int64_t i = 0; i < c.batch * c.outputs; ++i) {
      std::fill_n(part.out + i * size, size, c.bias ? c.bias[i % c.outputs] : 0.0f);
    }
  } else {
    gather_weights(c, pz, py, px, weights);
    part.kernel_d = pz.count, part.kernel_h = py.count, part.kernel_w = px.count;
    part.stride_d = part.stride_h = part.stride_w = 1;
    part.pad_d = pz.pad, part.pad_h = py.pad, part.pad_w = px.pad;
    part.dilation_d = pz.dilation, part.dilation_h = py.dilation, part.dilation_w = px.dilation;
    part.weight = weights;
    if (!conv2d(context, part)) return false;
  }
  scatter(context, c, part, z, y, x);
  return true;
}

}  // namespace

bool conv_transpose2d(KernelRuntimeContext& context, const Conv2d& c) {
  const auto most = [](int64_t size, int64_t stride) { return (size + stride - 1) / stride; };
  const int64_t outputs = c.batch * c.outputs * most(c.out_depth, c.stride_d) * most(c.out_height, c.stride_h) *
                          most(c.out_width, c.stride_w);
  float* weights = context.allocate_temporary_array<float>(
      static_cast<size_t>(c.outputs * c.channels / c.groups * c.kernel_d * c.taps()));
  Conv2d part = c;
  part.out = context.allocate_temporary_array<float>(static_cast<size_t>(outputs));
  if (weights == nullptr || part.out == nullptr) return false;
  for (int64_t i = 0; i < c.stride_d * c.stride_h * c.stride_w; ++i) {
    const int64_t y = i / c.stride_w % c.stride_h;
    if (!compute_phases(context, c, i / c.stride_w / c.stride_h, y, i % c.stride_w, weights, part)) return false;
  }
  return true;
}

}  // namespace rushlight::optimized
