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
  int64_t size[3] = {};            // sizes of the result, `dims` of them
  std::optional<double> scale[3];  // size of the result over that of the source; if absent, the sizes give it
};

// Uses the given sizes.
bool read_sizes(KernelRuntimeContext& context, Span<const int64_t> sizes, Resample* resample);
// Uses the given sizes, or the factors by which the sizes of `in` grow. Exactly one of the two is given.
bool read_sizes_or_factors(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> sizes,
                           std::optional<Span<const double>> factors, Resample* resample);

void resample(KernelRuntimeContext& context, const Resample& resample, const Tensor& in, Tensor& out);

// The weights of one axis: each element of the result is a weighted sum of source elements.
template <typename Weight>
struct Taps {
  int64_t width = 0;               // weights for each position of the result, padded with zeros
  const int32_t* index = nullptr;  // [result][width] positions in the source
  const Weight* weight = nullptr;  // [result][width]
};

// Computes the weights in scratch memory. If there is no memory, records the failure and returns false.
template <typename Weight>
bool make_taps(KernelRuntimeContext& context, const Resample& resample, int64_t dim, int64_t source_size,
               Taps<Weight>* taps);

}  // namespace rushlight
