#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels/shared/accumulate.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/shape.h"

namespace rushlight {

// Computes out = (in - mean) * rstd * weight + bias over groups of elements. Each group has one mean and one rstd.
// `groups` are the loops over the groups, `members` the loops over the elements of a group.
struct Normalization {
  enum Operand { kIn, kOut, kWeight, kBias, kMean, kRstd };  // the first four are also operands of `members`
  const Tensor& in;
  const Tensor& out;
  const std::optional<Tensor>& weight;
  const std::optional<Tensor>& bias;
  LoopNest groups, members;

  Normalization(const Tensor& in_, const Tensor& out_, const std::optional<Tensor>& weight_,
                const std::optional<Tensor>& bias_)
      : in(in_), out(out_), weight(weight_), bias(bias_) {
    groups.operands = 6;
    members.operands = 4;
  }
};

// The statistics of a group. Functions that write or read them receive the operands' offsets of the group.
struct GroupStatistics {
  double mean, rstd;
};

// Computes the mean and the sum of squared deviations of the group whose first element is at `offset`.
template <typename C>
Moments group_moments(const Normalization& problem, int64_t offset) {
  constexpr int64_t kBlock = 128;
  const Convert load = load_function(problem.in.scalar_type(), scalar_type_of<C>);
  const LoopNest& members = problem.members;
  const int64_t stride = members.inner_stride(Normalization::kIn);
  Moments moments;
  for_each_row(members, 0, members.numel(), [&](const int64_t* offsets, int64_t n) {
    C block[kBlock];
    for (int64_t first = 0; first < n; first += kBlock) {
      const int64_t length = n - first < kBlock ? n - first : kBlock;
      load(at(problem.in, offset + offsets[Normalization::kIn] + first * stride), stride, block, 1, length);
      moments.add(block, length);
    }
  });
  return moments;
}

// Writes the normalized elements of one group.
template <typename C>
void normalize_group(const Normalization& problem, const int64_t* group, GroupStatistics statistics) {
  using N = Normalization;
  constexpr int64_t kBlock = 128;
  const ScalarType compute = scalar_type_of<C>;
  const Convert load = load_function(problem.in.scalar_type(), compute);
  const Convert store = store_function(compute, problem.out.scalar_type());
  const Convert load_weight = problem.weight ? load_function(problem.weight->scalar_type(), compute) : nullptr;
  const Convert load_bias = problem.bias ? load_function(problem.bias->scalar_type(), compute) : nullptr;
  const C mean = static_cast<C>(statistics.mean), rstd = static_cast<C>(statistics.rstd);
  const LoopNest& members = problem.members;
  for_each_row(members, 0, members.numel(), [&](const int64_t* offsets, int64_t n) {
    C x[kBlock], parameter[kBlock];
    for (int64_t first = 0; first < n; first += kBlock) {
      const int64_t length = n - first < kBlock ? n - first : kBlock;
      const auto element = [&](N::Operand k) { return group[k] + offsets[k] + first * members.inner_stride(k); };
      load(at(problem.in, element(N::kIn)), members.inner_stride(N::kIn), x, 1, length);
      for (int64_t i = 0; i < length; ++i) x[i] = (x[i] - mean) * rstd;
      if (load_weight) {
        load_weight(at(*problem.weight, element(N::kWeight)), members.inner_stride(N::kWeight), parameter, 1, length);
        for (int64_t i = 0; i < length; ++i) x[i] *= parameter[i];
      }
      if (load_bias) {
        load_bias(at(*problem.bias, element(N::kBias)), members.inner_stride(N::kBias), parameter, 1, length);
        for (int64_t i = 0; i < length; ++i) x[i] += parameter[i];
      }
      store(x, 1, at(problem.out, element(N::kOut)), members.inner_stride(N::kOut), length);
    }
  });
}

// Calls statistics_of(group offsets) for every group and normalizes the group with the result.
template <typename C, typename StatisticsOf>
void normalize(KernelRuntimeContext& context, const Normalization& problem, const StatisticsOf& statistics_of) {
  const LoopNest& groups = problem.groups;
  context.parallel_for(0, groups.numel(), 1, [&](int64_t begin, int64_t end) {
    for_each_row(groups, begin, end, [&](const int64_t* first, int64_t n) {
      int64_t offsets[kMaxOperands];
      for (int64_t i = 0; i < n; ++i) {
        for (int k = 0; k < groups.operands; ++k) offsets[k] = first[k] + i * groups.inner_stride(k);
        normalize_group<C>(problem, offsets, statistics_of(static_cast<const int64_t*>(offsets)));
      }
    });
  });
}

// Normalizes each group with its own mean and biased variance. `mean` and `rstd` receive the mean and 1 / sqrt(variance
// + eps).
template <typename C>
void normalize_by_moments(KernelRuntimeContext& context, const Normalization& problem, double eps, const Tensor& mean,
                          const Tensor& rstd) {
  const Convert store_mean = store_function(ScalarType::Double, mean.scalar_type());
  const Convert store_rstd = store_function(ScalarType::Double, rstd.scalar_type());
  normalize<C>(context, problem, [&](const int64_t* offsets) {
    const Moments moments = group_moments<C>(problem, offsets[Normalization::kIn]);
    const GroupStatistics statistics{moments.mean, 1 / std::sqrt(moments.variance(0) + eps)};
    store_mean(&statistics.mean, 1, at(mean, offsets[Normalization::kMean]), 1, 1);
    store_rstd(&statistics.rstd, 1, at(rstd, offsets[Normalization::kRstd]), 1, 1);
    return statistics;
  });
}

}  // namespace rushlight
