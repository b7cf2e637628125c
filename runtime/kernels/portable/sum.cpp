#include <optional>
#include <type_traits>

#include "kernels/portable/reduction.h"
#include "kernels/shared/accumulate.h"
#include "kernels/shared/integer.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

template <typename C>
struct Sum {
  Wide<C> init() const { return Wide<C>(0); }
  void update(Wide<C>& sum, const C* x, int64_t n) const {
    if constexpr (std::is_same_v<C, int64_t>) {
      for (int64_t i = 0; i < n; ++i) sum = wrap_add(sum, x[i]);
    } else {
      sum += sum_of(n, [x](int64_t i) { return static_cast<Wide<C>>(x[i]); });
    }
  }
  Wide<C> finish(const Wide<C>& sum) const { return sum; }
};

}  // namespace

void sum_int_list_out(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> dims,
                      bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  DimMask mask;
  if (!dim_mask(context, in, dims, &mask)) return;
  // Without a dtype the sum has the dtype of `out`.
  switch_compute<kinds::kAll>(context, dtype.value_or(out.scalar_type()), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, keepdim, {out}, Sum<C>());
  });
}

void sum_out(KernelRuntimeContext& context, const Tensor& in, std::optional<ScalarType> dtype, Tensor& out) {
  sum_int_list_out(context, in, std::nullopt, false, dtype, out);
}

}  // namespace rushlight::portable
