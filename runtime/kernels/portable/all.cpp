#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

template <typename C>
struct All {
  bool init() const { return true; }
  void update(bool& all, const C* x, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) all = all && x[i] != C(0);
  }
  bool finish(const bool& all) const { return all; }
};

void all_over(KernelRuntimeContext& context, const Tensor& in, DimMask mask, bool keepdim, const Tensor& out) {
  switch_compute<kinds::kAll>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {out}, All<C>());
  });
}

}  // namespace

void all_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim, Tensor& out) {
  DimMask mask;
  if (dim_mask(context, in, dim, &mask)) all_over(context, in, mask, keepdim, out);
}

void all_dims_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                  bool keepdim, Tensor& out) {
  DimMask mask;
  if (dim_mask(context, in, dims, &mask, false)) all_over(context, in, mask, keepdim, out);
}

void all_all_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  DimMask mask;
  if (dim_mask(context, in, std::nullopt, &mask)) all_over(context, in, mask, false, out);
}

}  // namespace rushlight::portable
