#include "kernels/portable/create.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void scalar_tensor_out(KernelRuntimeContext& context, const Scalar& value, Tensor& out) {
  if (resize_out(context, out, Span<const SizesType>())) fill_tensor(context, out, value);
}

}  // namespace rushlight::portable
