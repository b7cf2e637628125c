#include "kernels/shared/cast_copy.h"

#include "kernels/shared/elementwise.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight {

void cast_copy(KernelRuntimeContext& context, const Tensor& in, const Tensor& out) {
  if (in.scalar_type() == out.scalar_type() && same_shape(in, out)) {
    copy_elements(context, in, out);
    return;
  }
  switch_compute<kinds::kAll>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    map_elements<C>(context, {in}, out, in.scalar_type(), [](C x) { return x; });
  });
}

}  // namespace rushlight
