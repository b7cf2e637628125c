#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

template <typename C>
struct Any {
  bool init() const { return false; }
  void update(bool& any, const C* x, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) any = any || x[i] != C(0);
  }
  bool finish(const bool& any) const { return any; }
};

void any_over(KernelRuntimeContext& context, const Tensor& in, DimMask mask, bool keepdim, const Tensor& out) {
  switch_compute<kinds::kAll>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {out}, Any<C>());
  });
}

}  // namespace

void any_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& out) {
  DimMask mask;
  if (dim_mask(context, in, dim, &mask)) any_over(context, in, mask, keepdim, out);
}

void any_dims_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                  bool keepdim, Tensor& out) {
  DimMask mask;
  if (dim_mask(context, in, dims, &mask, false)) any_over(context, in, mask, keepdim, out);
}

void any_all_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  DimMask mask;
  if (dim_mask(context, in, std::nullopt, &mask)) any_over(context, in, mask, false, out);
}

}  // namespace rushlight::portable
