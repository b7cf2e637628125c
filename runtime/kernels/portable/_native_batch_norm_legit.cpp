#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/batch_norm.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

// running = (1 - momentum) * running + momentum * value
void update_running(const Tensor& running, int64_t channel, double momentum, double value) {
  double old;
  load_function(running.scalar_type(), ScalarType::Double)(at(running, channel), 1, &old, 1, 1);
  const double updated = (1 - momentum) * old + momentum * value;
  store_function(ScalarType::Double, running.scalar_type())(&updated, 1, at(running, channel), 1, 1);
}

}  // namespace

void native_batch_norm_legit_no_stats_out(KernelRuntimeContext& context, const Tensor& in,
                                          const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, bool,
                                          double, double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  Normalization problem(in, out, weight, bias);
  if (!prepare_batch_norm(context, problem) || !resize_out(context, save_mean, {in.size(1)}) ||
      !resize_out(context, save_invstd, {in.size(1)})) {
    return;
  }
  switch_compute<kinds::kFloating>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    normalize_by_moments<C>(context, problem, eps, save_mean, save_invstd);
  });
}

void native_batch_norm_legit_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& weight,
                                 const std::optional<Tensor>& bias, Tensor& running_mean, Tensor& running_var,
                                 bool training, double momentum, double eps, Tensor& out, Tensor& save_mean,
                                 Tensor& save_invstd) {
  if (!training) {
    return native_batch_norm_legit_no_training_out(context, in, weight, bias, running_mean, running_var, momentum, eps,
                                                   out, save_mean, save_invstd);
  }
  Normalization problem(in, out, weight, bias);
  if (!prepare_batch_norm(context, problem) || !resize_out(context, save_mean, {in.size(1)}) ||
      !resize_out(context, save_invstd, {in.size(1)})) {
    return;
  }
  RL_KERNEL_REQUIRE(context, fits_channels(running_mean, in.size(1)) && fits_channels(running_var, in.size(1)),
                    InvalidArgument, "running_mean or running_var is not a vector of %lld elements",
                    static_cast<long long>(in.size(1)));
  const Convert store_mean = store_function(ScalarType::Double, save_mean.scalar_type());
  const Convert store_invstd = store_function(ScalarType::Double, save_invstd.scalar_type());
  switch_compute<kinds::kFloating>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    normalize<C>(context, problem, [&](const int64_t* offsets) {
      const int64_t channel = offsets[Normalization::kMean];
      const Moments moments = group_moments<C>(problem, offsets[Normalization::kIn]);
      const GroupStatistics statistics{moments.mean, 1 / std::sqrt(moments.variance(0) + eps)};
      store_mean(&statistics.mean, 1, at(save_mean, channel), 1, 1);
      store_invstd(&statistics.rstd, 1, at(save_invstd, channel), 1, 1);
      update_running(running_mean, channel, momentum, moments.mean);
      update_running(running_var, channel, momentum, moments.variance(1));
      return statistics;
    });
  });
}

}  // namespace rushlight::portable
