// Convolutions of images that are not channels-last: each channel is a plane, as in the first convolution of a network.
#include <algorithm>
#include <cstring>

#include "core/rounding.h"
#include "microkernels/conv/f32.h"

namespace rushlight::microkernels {

void PackedConvolution::part_of_lines(float* scratch, int64_t m0, int64_t m1, int64_t p0, int64_t p1) const {
  const float** taps = reinterpret_cast<const float**>(scratch);
  float* lines = scratch + pointer_floats();
  const int64_t length = line_floats();
  // The lines have the order of the rows of the weights.
  for (int64_t i = 0; i < depth(); ++i) {
    const int64_t c = i % channels, kx = i / channels % window.kernel_w, ky = i / channels / window.kernel_w;
    taps[i] = lines + (c * window.kernel_h + ky) * length + kx * window.dilation_w;
  }
  const int64_t panel = packing().panel, width = out_.sizes[2];
  LineTile tile{};
  tile.lines = taps;
  tile.step = window.stride_w;
  tile.k = depth();
  tile.c_step = out_step_;
  tile.epilogue = epilogue;
  tile.epilogue.residual_step = residual_step_;
  for (int64_t m = m0; m < m1;) {
    const int64_t x0 = m % width, count = std::min(width - x0, m1 - m);
    fill_lines(m / width, lines);
    const RowDivision division(count, kernels->gemm_rows, kernels->packed->has_all_rows);
    for (int64_t p = p0; p < p1; ++p) {
      const int64_t column = p * panel;
      tile.columns = std::min(panel, outputs - column);
      const PackedWeights b = weights.from(column * depth());
      tile.b = b.floats;
      tile.bias = bias ? bias + column : nullptr;
      const int vectors = static_cast<int>(divide_up(tile.columns, kernels->width));
      if (b.is_f16()) {
        widen(b.type, b.f16, depth() * vectors * kernels->width, widened(scratch));
        tile.b = widened(scratch);
      }
      for (int64_t part = 0, first = 0; part < division.groups; first += division.count(part), ++part) {
        tile.first = (x0 + first) * window.stride_w;
        tile.c = out_.data + (m + first) * out_step_ + column;
        if (has_residual_) tile.epilogue.residual = residual_.data + (m + first) * residual_step_ + column;
        kernels->packed->line(static_cast<int>(division.count(part)), vectors, tile);
      }
    }
    m += count;
  }
}

// Copies the input lines [channels, kernel_h, line_floats()] of output row `row`, counted over all images, and fills
// the padding with zeros. It prefetches the additional lines that the next row needs.
void PackedConvolution::fill_lines(int64_t row, float* to) const {
  const int64_t height = out_.sizes[1], length = line_floats();
  const Image& in = in_.images[0];
  const float* image = in.data + row / height * in.strides[0];
  const int64_t before = std::min(window.pad_w, length), inside = std::min(in.sizes[2], length - before);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t ky = 0; ky < window.kernel_h; ++ky, to += length) {
      const int64_t y = row % height * window.stride_h - window.pad_h + ky * window.dilation_h;
      if (y < 0 || y >= in.sizes[1]) {
        std::fill_n(to, length, 0.0f);
        continue;
      }
      const float* const from = image + y * in.strides[1] + c * in.strides[3];
      if (ky + window.stride_h >= window.kernel_h && y + window.stride_h < in.sizes[1]) {
        const float* const next = from + window.stride_h * in.strides[1];
        for (int64_t x = 0; x < inside; x += 16) __builtin_prefetch(next + x, 0, 3);
      }
      std::fill_n(to, before, 0.0f);
      std::memcpy(to + before, from, static_cast<size_t>(inside) * sizeof(float));
      std::fill_n(to + before + inside, length - before - inside, 0.0f);
    }
  }
}

}  // namespace rushlight::microkernels
