#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/batch_norm.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

void native_batch_norm_legit_no_training_out(KernelRuntimeContext& context, const Tensor& in,
                                             const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                             const Tensor& running_mean, const Tensor& running_var, double, double eps,
                                             Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  Normalization problem(in, out, weight, bias);
  if (!prepare_batch_norm(context, problem) || !resize_out(context, save_mean, {0}) ||
      !resize_out(context, save_invstd, {0})) {
    return;
  }
  RL_KERNEL_REQUIRE(context, fits_channels(running_mean, in.size(1)) && fits_channels(running_var, in.size(1)),
                    InvalidArgument, "running_mean or running_var is not a vector of %lld elements",
                    static_cast<long long>(in.size(1)));
  switch_compute<kinds::kFloating>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    normalize_by_running<C>(context, problem, eps, running_mean, running_var);
  });
}

}  // namespace rushlight::portable
