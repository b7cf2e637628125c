#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/accumulate.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

template <typename C>
struct Mean {
  double count;
  Wide<C> init() const { return Wide<C>(0); }
  void update(Wide<C>& sum, const C* x, int64_t n) const {
    sum += sum_of(n, [x](int64_t i) { return static_cast<Wide<C>>(x[i]); });
  }
  Wide<C> finish(const Wide<C>& sum) const { return sum / count; }
};

}  // namespace

void mean_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims, bool keepdim,
              std::optional<ScalarType> dtype, Tensor& out) {
  DimMask mask;
  if (!dim_mask(context, in, dims, &mask)) return;
  switch_compute<kinds::kFloating | kinds::kComplex>(context, dtype.value_or(out.scalar_type()), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {out}, Mean<C>{static_cast<double>(reduced_numel(in, mask))});
  });
}

void mean_dtype_out(KernelRuntimeContext& context, const Tensor& in, std::optional<ScalarType> dtype, Tensor& out) {
  mean_out(context, in, std::nullopt, false, dtype, out);
}

}  // namespace rushlight::portable
