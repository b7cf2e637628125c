#include <initializer_list>
#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/normalize.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

void native_layer_norm_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> normalized_shape,
                           const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                           Tensor& out, Tensor& mean, Tensor& rstd) {
  const int64_t normalized = static_cast<int64_t>(normalized_shape.size()), lead = in.dim() - normalized;
  RL_KERNEL_REQUIRE(context, lead >= 0, InvalidArgument, "normalized_shape has more dims than the input");
  for (int64_t d = 0; d < normalized; ++d) {
    RL_KERNEL_REQUIRE(context, in.size(lead + d) == normalized_shape[static_cast<size_t>(d)], InvalidArgument,
                      "normalized_shape differs from the input's shape in dim %lld", static_cast<long long>(lead + d));
  }
  for (const std::optional<Tensor>& parameter : {weight, bias}) {
    bool fits = !parameter || parameter->dim() == normalized;
    for (int64_t d = 0; parameter && fits && d < normalized; ++d) fits = parameter->size(d) == in.size(lead + d);
    RL_KERNEL_REQUIRE(context, fits, InvalidArgument, "the shape of weight or bias is not normalized_shape");
  }
  DimMask mask = 0;
  for (int64_t d = lead; d < in.dim(); ++d) mask |= DimMask(1) << d;
  const Shape statistics = reduced_shape(in, mask, true);
  if (!resize_out_like(context, out, in) || !resize_out(context, mean, statistics.span()) ||
      !resize_out(context, rstd, statistics.span())) {
    return;
  }
  Normalization problem(in, out, weight, bias);
  for (int64_t d = 0; d < in.dim(); ++d) {
    if (d < lead) {
      problem.groups.push(in.size(d), {in.stride(d), out.stride(d), 0, 0, mean.stride(d), rstd.stride(d)});
    } else {
      problem.members.push(in.size(d), {in.stride(d), out.stride(d), weight ? weight->stride(d - lead) : 0,
                                        bias ? bias->stride(d - lead) : 0});
    }
  }
  problem.members.collapse();
  switch_compute<kinds::kFloating>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    normalize_by_moments<C>(context, problem, eps, mean, rstd);
  });
}

}  // namespace rushlight::portable
