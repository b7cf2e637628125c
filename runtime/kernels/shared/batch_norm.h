#pragma once

#include <initializer_list>

#include "kernels/shared/normalize.h"

namespace rushlight {

// Returns whether `vector` has one element per channel.
inline bool fits_channels(const Tensor& vector, int64_t channels) {
  return vector.dim() == 1 && vector.size(0) == channels;
}

// Checks the shapes, resizes `out` and makes one group for each channel.
inline bool prepare_batch_norm(KernelRuntimeContext& context, Normalization& problem) {
  const Tensor& in = problem.in;
  const Tensor& out = problem.out;
  if (in.dim() < 2) {
    context.fail(Error::InvalidArgument, "the input has %lld dims, but needs at least 2",
                 static_cast<long long>(in.dim()));
    return false;
  }
  for (const std::optional<Tensor>& parameter : {problem.weight, problem.bias}) {
    if (parameter && !fits_channels(*parameter, in.size(1))) {
      context.fail(Error::InvalidArgument, "weight or bias is not a vector of %lld elements",
                   static_cast<long long>(in.size(1)));
      return false;
    }
  }
  if (!resize_out_like(context, out, in)) return false;
  problem.groups.push(in.size(1), {in.stride(1), out.stride(1), 1, 1, 1, 1});
  problem.members.push(in.size(0), {in.stride(0), out.stride(0), 0, 0});
  for (int64_t d = 2; d < in.dim(); ++d) problem.members.push(in.size(d), {in.stride(d), out.stride(d), 0, 0});
  problem.members.collapse();
  return true;
}

// Normalizes with given statistics, one pair for each channel.
template <typename C>
void normalize_by_running(KernelRuntimeContext& context, const Normalization& problem, double eps, const Tensor& mean,
                          const Tensor& variance) {
  const Convert load_mean = load_function(mean.scalar_type(), ScalarType::Double);
  const Convert load_variance = load_function(variance.scalar_type(), ScalarType::Double);
  normalize<C>(context, problem, [&](const int64_t* offsets) {
    double channel_mean, channel_variance;
    load_mean(at(mean, offsets[Normalization::kMean]), 1, &channel_mean, 1, 1);
    load_variance(at(variance, offsets[Normalization::kRstd]), 1, &channel_variance, 1, 1);
    return GroupStatistics{channel_mean, 1 / std::sqrt(channel_variance + eps)};
  });
}

}  // namespace rushlight
