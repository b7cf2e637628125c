#include "kernels/shared/resample_bytes.h"

#include <algorithm>
#include <cmath>

#include "kernels/shared/window.h"

namespace rushlight {
namespace {

// Taps whose weights are fixed-point numbers with `shift` fraction bits, and the rounding of their sums.
struct FixedTaps {
  Taps<double> taps;  // for their positions
  int16_t* weight = nullptr;
  int shift = 0;

  uint8_t round(int32_t sum) const { return static_cast<uint8_t>(std::clamp(sum >> shift, 0, 255)); }
  int32_t half() const { return 1 << (shift - 1); }
};

// Uses the largest number of fraction bits for which the largest weight fits into 16 bits.
bool make_fixed_taps(KernelRuntimeContext& context, const Resample& r, int64_t dim, int64_t source, FixedTaps* fixed) {
  if (!make_taps<double>(context, r, dim, source, &fixed->taps)) return false;
  const size_t count = static_cast<size_t>(fixed->taps.width * r.size[dim]);
  fixed->weight = context.allocate_temporary_array<int16_t>(count);
  if (!fixed->weight) return false;
  // At the edge of the image, several taps may read the same element. Their weights are added.
  double* weights = context.allocate_temporary_array<double>(count);
  if (!weights) return false;
  std::copy(fixed->taps.weight, fixed->taps.weight + count, weights);
  for (size_t i = 0; i < count; ++i) {
    const size_t next = i + 1;
    if (next % static_cast<size_t>(fixed->taps.width) == 0 || fixed->taps.index[i] != fixed->taps.index[next]) continue;
    weights[next] += weights[i];
    weights[i] = 0;
  }
  const double largest = *std::max_element(weights, weights + count);
  while (fixed->shift < 22 && static_cast<int>(0.5 + largest * (1 << (fixed->shift + 1))) < (1 << 15)) ++fixed->shift;
  for (size_t i = 0; i < count; ++i) {
    const double scaled = weights[i] * (1 << fixed->shift);
    fixed->weight[i] = static_cast<int16_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  }
  return true;
}

// Resizes a row of `width` results. The elements of `row` are `stride` bytes apart.
void resize_row(const FixedTaps& x, const uint8_t* row, int64_t stride, int64_t width, uint8_t* to) {
  for (int64_t j = 0; j < width; ++j) {
    int32_t sum = x.half();
    for (int64_t k = j * x.taps.width; k < (j + 1) * x.taps.width; ++k) {
      sum += row[x.taps.index[k] * stride] * x.weight[k];
    }
    to[j] = x.round(sum);
  }
}

// Computes row `i` of the result, whose elements are `step` bytes apart, from contiguous rows of `width` elements.
void mix_rows(const FixedTaps& y, int64_t i, const uint8_t* rows, int64_t width, uint8_t* to, int64_t step) {
  for (int64_t j = 0; j < width; ++j) {
    int32_t sum = y.half();
    for (int64_t k = i * y.taps.width; k < (i + 1) * y.taps.width; ++k) {
      sum += rows[y.taps.index[k] * width + j] * y.weight[k];
    }
    to[j * step] = y.round(sum);
  }
}

}  // namespace

void resample_bytes(KernelRuntimeContext& context, const Resample& r, const Tensor& in, const Tensor& out) {
  const ImageLayout image(in, 2), result(out, 2);
  const bool along_x = r.size[1] != image.size[2], along_y = r.size[0] != image.size[1];
  FixedTaps x, y;
  if (along_x && !make_fixed_taps(context, r, 1, image.size[2], &x)) return;
  if (along_y && !make_fixed_taps(context, r, 0, image.size[1], &y)) return;
  const int64_t height = image.size[1], width = result.size[2];
  uint8_t* rows = context.allocate_temporary_array<uint8_t>(static_cast<size_t>(height * width));
  if (!rows) return;
  for (int64_t plane = 0; plane < image.batch * image.channels; ++plane) {
    const int64_t batch = plane / image.channels, channel = plane % image.channels;
    const uint8_t* from = in.const_data_ptr<uint8_t>() + batch * image.batch_stride + channel * image.channel_stride;
    uint8_t* to = out.mutable_data_ptr<uint8_t>() + batch * result.batch_stride + channel * result.channel_stride;
    context.parallel_for(0, height, 8192 / width + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const uint8_t* const row = from + i * image.stride[1];
        if (along_x) {
          resize_row(x, row, image.stride[2], width, rows + i * width);
        } else {
          for (int64_t j = 0; j < width; ++j) rows[i * width + j] = row[j * image.stride[2]];
        }
      }
    });
    context.parallel_for(0, result.size[1], 8192 / width + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        uint8_t* const row = to + i * result.stride[1];
        if (along_y) {
          mix_rows(y, i, rows, width, row, result.stride[2]);
        } else {
          for (int64_t j = 0; j < width; ++j) row[j * result.stride[2]] = rows[i * width + j];
        }
      }
    });
  }
}

}  // namespace rushlight
