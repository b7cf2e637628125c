#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

// The result is NaN if the element or the bound is NaN.
struct Limit {
  template <typename C>
  C operator()(C x, C bound) const {
    return x != x ? x : x < bound || bound != bound ? bound : x;
  }
};

}  // namespace

void clamp_min_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& bound, Tensor& out) {
  const ScalarType common = result_type(in, bound);
  elementwise<kinds::kReal>(context, {in}, out, common, [&](auto c) {
    using C = decltype(c);
    return [bound = number_in<C>(bound, common)](C x) { return Limit()(x, bound); };
  });
}

void clamp_min_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& bound, Tensor& out) {
  elementwise<kinds::kReal>(context, {in, bound}, out, result_type(in, bound), [](auto) { return Limit(); });
}

}  // namespace rushlight::portable
