#include <optional>
#include <type_traits>

#include "kernels/portable/reduction.h"
#include "kernels/shared/accumulate.h"
#include "kernels/shared/integer.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

template <typename C>
struct Product {
  Wide<C> init() const { return Wide<C>(1); }
  void update(Wide<C>& product, const C* x, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<C, int64_t>) {
        product = wrap_mul(product, x[i]);
      } else {
        product *= static_cast<Wide<C>>(x[i]);
      }
    }
  }
  Wide<C> finish(const Wide<C>& product) const { return product; }
};

void product_over(KernelRuntimeContext& context, const Tensor& in, DimMask mask, bool keepdim,
                  std::optional<ScalarType> dtype, const Tensor& out) {
  switch_compute<kinds::kAll>(context, dtype.value_or(out.scalar_type()), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {out}, Product<C>());
  });
}

}  // namespace

void prod_int_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim,
                  std::optional<ScalarType> dtype, Tensor& out) {
  DimMask mask;
  if (dim_mask(context, in, dim, &mask)) product_over(context, in, mask, keepdim, dtype, out);
}

void prod_out(KernelRuntimeContext& context, const Tensor& in, std::optional<ScalarType> dtype, Tensor& out) {
  DimMask mask;
  if (dim_mask(context, in, std::nullopt, &mask)) product_over(context, in, mask, false, dtype, out);
}

}  // namespace rushlight::portable
