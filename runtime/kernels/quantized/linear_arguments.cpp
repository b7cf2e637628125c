#include "kernels/quantized/linear_arguments.h"

#include "kernels/shared/shape.h"

namespace rushlight::quantized {

bool resize_linear(KernelRuntimeContext& context, const Tensor& in, int64_t depth, int64_t columns,
                   const std::optional<Tensor>& bias, const Tensor& out) {
  if (in.dim() == 0 || in.size(in.dim() - 1) != depth) {
    context.fail(Error::InvalidArgument,
                 "the size of the input's last dim differs from the weight's %lld input features",
                 static_cast<long long>(depth));
    return false;
  }
  if (bias && bias->numel() != columns) {
    context.fail(Error::InvalidArgument, "the bias has %lld elements, not %lld", static_cast<long long>(bias->numel()),
                 static_cast<long long>(columns));
    return false;
  }
  Shape shape(in.sizes());
  shape.set(in.dim() - 1, columns);
  return resize_out(context, out, shape.span());
}

}  // namespace rushlight::quantized
