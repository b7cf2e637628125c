#include "kernels/portable/elementwise.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void fill_scalar_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& value, Tensor& out) {
  if (!resize_out_like(context, out, in)) return;
  const ScalarType type = out.scalar_type();
  switch_compute<kinds::kAll>(context, type, [&](auto tag) {
    using C = typename decltype(tag)::type;
    map_elements<C>(context, {out}, out, type, [value = number_in<C>(value, type)](C) { return value; });
  });
}

void fill_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& value, Tensor& out) {
  RL_KERNEL_REQUIRE(context, value.dim() == 0, InvalidArgument, "the value has %lld dims, not 0",
                    static_cast<long long>(value.dim()));
  if (resize_out_like(context, out, in)) convert_copy(context, value, out);
}

}  // namespace rushlight::portable
