#pragma once

#include <cstdint>
#include <optional>

#include "kernels/shared/shape.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

enum class Interpolation : uint8_t { Nearest, NearestExact, Linear, Cubic };

// How the last `dims` dims of an image [batch, channels, spatial...] are resized.
struct Resample {
  Interpolation interpolation = Interpolation::Nearest;
  int64_t dims = 2;
  bool align_corners = false;
  bool antialias = false;
  int64_t size[3] = {};            // of the result, `dims` of them
  std::optional<double> scale[3];  // result over source; none: from the sizes
};

// Sizes as given.
bool read_sizes(KernelRuntimeContext& context, Span<const int64_t> sizes, Resample* resample);
// Sizes, or the factors by which those of `in` grow: one of the two is given.
bool read_sizes_or_factors(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> sizes,
                           std::optional<Span<const double>> factors, Resample* resample);

void resample(KernelRuntimeContext& context, const Resample& resample, const Tensor& in, Tensor& out);

// The weights by which the elements of one axis make up those of the result.
template <typename Weight>
struct Taps {
  int64_t width = 0;               // weights for each position of the result, padded with zeros
  const int32_t* index = nullptr;  // [result][width] positions in the source
  const Weight* weight = nullptr;  // [result][width]
};

// Allocated in scratch memory; If there is none, records the failure and returns false.
template <typename Weight>
bool make_taps(KernelRuntimeContext& context, const Resample& resample, int64_t dim, int64_t source_size,
               Taps<Weight>* taps);

}  // namespace rushlight
