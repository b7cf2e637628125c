#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/reduce.h"
#include "kernels/shared/vector_norm.h"

namespace rushlight::portable {

namespace {

template <typename C>
struct Norm {
  PowerSum power;
  double init() const { return power.start(); }
  void update(double& state, const C* x, int64_t n) const {
    state = power.add(state, n, [x](int64_t i) { return static_cast<Wide<C>>(x[i]); });
  }
  double finish(const double& state) const { return power.finish(state); }
};

}  // namespace

void linalg_vector_norm_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& ord,
                            std::optional<Span<const int64_t>> dims, bool keepdim, std::optional<ScalarType> dtype,
                            Tensor& out) {
  DimMask mask;
  if (!dim_mask(context, in, dims, &mask)) return;
  const double p = ord.to<double>();
  if (p < 0 && !require_nonempty(context, in, mask, "a norm of negative order")) return;
  switch_compute<kinds::kFloating | kinds::kComplex>(context, dtype.value_or(in.scalar_type()), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {out}, Norm<C>{PowerSum(p)});
  });
}

}  // namespace rushlight::portable
