#include <initializer_list>
#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/normalize.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

void native_group_norm_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& weight,
                           const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t spatial, int64_t group,
                           double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  RL_KERNEL_REQUIRE(context, in.dim() >= 2 && in.size(0) == n && in.size(1) == c && in.numel() == n * c * spatial,
                    InvalidArgument, "N, C or HxW does not match the shape of the input");
  RL_KERNEL_REQUIRE(context, group > 0 && c % group == 0, InvalidArgument,
                    "%lld channels cannot be divided into %lld groups", static_cast<long long>(c),
                    static_cast<long long>(group));
  for (const std::optional<Tensor>& parameter : {weight, bias}) {
    RL_KERNEL_REQUIRE(context, !parameter || (parameter->dim() == 1 && parameter->size(0) == c), InvalidArgument,
                      "weight or bias is not a vector of %lld elements", static_cast<long long>(c));
  }
  if (!resize_out_like(context, out, in) || !resize_out(context, mean, {n, group}) ||
      !resize_out(context, rstd, {n, group})) {
    return;
  }
  const int64_t each = c / group;
  Normalization problem(in, out, weight, bias);
  problem.groups.push(n, {in.stride(0), out.stride(0), 0, 0, mean.stride(0), rstd.stride(0)});
  problem.groups.push(group, {each * in.stride(1), each * out.stride(1), each, each, mean.stride(1), rstd.stride(1)});
  problem.members.push(each, {in.stride(1), out.stride(1), 1, 1});
  for (int64_t d = 2; d < in.dim(); ++d) problem.members.push(in.size(d), {in.stride(d), out.stride(d), 0, 0});
  problem.members.collapse();
  switch_compute<kinds::kFloating>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    normalize_by_moments<C>(context, problem, eps, mean, rstd);
  });
}

}  // namespace rushlight::portable
