#pragma once

#include <cstdint>
#include <optional>

#include "kernels/shared/shape.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

enum class Interpolation : uint8_t { Nearest, NearestExact, Linear, Cubic };

// The sizes to which the last `dims` dims of an image [batch, channels, spatial...] are resized.
struct Resample {
  Interpolation interpolation = Interpolation::Nearest;
  int64_t dims = 2;
  bool align_corners = false;
  bool antialias = false;
  int64_t size[3] = {};            // [dims], sizes of the result
  std::optional<double> scale[3];  // size of the result / size of the source; if nullopt, the sizes define it
};

// Uses the given sizes.
bool read_sizes(KernelRuntimeContext& context, Span<const int64_t> sizes, Resample* resample);
// Uses either the given sizes, or the factors by which the sizes of `in` grow. The caller gives exactly one of them.
bool read_sizes_or_factors(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> sizes,
                           std::optional<Span<const double>> factors, Resample* resample);

void resample(KernelRuntimeContext& context, const Resample& resample, const Tensor& in, Tensor& out);

// The weights along one axis: each element of the result is a weighted sum of source elements.
template <typename Weight>
struct Taps {
  int64_t width = 0;               // number of weights per position of the result, padded with zeros
  const int32_t* index = nullptr;  // [result][width] positions in the source
  const Weight* weight = nullptr;  // [result][width]
};

// Computes the weights in scratch memory. If there is no memory, records the failure and returns false.
template <typename Weight>
bool make_taps(KernelRuntimeContext& context, const Resample& resample, int64_t dim, int64_t source_size,
               Taps<Weight>* taps);

}  // namespace rushlight
