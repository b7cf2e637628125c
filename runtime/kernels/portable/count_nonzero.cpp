#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/reduce.h"

namespace rushlight::portable {

namespace {

template <typename C>
struct Count {
  int64_t init() const { return 0; }
  void update(int64_t& count, const C* x, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) count += x[i] != C(0);
  }
  int64_t finish(const int64_t& count) const { return count; }
};

void count_over(KernelRuntimeContext& context, const Tensor& in, DimMask mask, const Tensor& out) {
  switch_compute<kinds::kAll>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    reduce<C>(context, in, mask, false, {out}, Count<C>());
  });
}

}  // namespace

void count_nonzero_out(KernelRuntimeContext& context, const Tensor& in, std::optional<int64_t> dim, Tensor& out) {
  DimMask mask;
  if (dim ? dim_mask(context, in, *dim, &mask) : dim_mask(context, in, std::nullopt, &mask)) {
    count_over(context, in, mask, out);
  }
}

void count_nonzero_dim_int_list_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims,
                                    Tensor& out) {
  DimMask mask;
  if (dim_mask(context, in, dims, &mask)) count_over(context, in, mask, out);
}

}  // namespace rushlight::portable
