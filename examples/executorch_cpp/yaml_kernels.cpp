#include "yaml_kernels.h"

namespace yaml_ops {
namespace native {
namespace {

template <typename T>
void scale(const Tensor& x, double factor, Tensor& out) {
  for (ssize_t i = 0; i < x.numel(); ++i) {
    out.mutable_data_ptr<T>()[i] = static_cast<T>(x.const_data_ptr<T>()[i] * factor);
  }
}

}  // namespace

Tensor& scale_out(KernelRuntimeContext& context, const Tensor& x, double factor, Tensor& out) {
  using executorch::aten::ScalarType;
  ET_KERNEL_CHECK(context, executorch::runtime::resize_tensor(out, x.sizes()) == executorch::runtime::Error::Ok,
                  InvalidArgument, out);
  ET_KERNEL_CHECK(context, x.scalar_type() == ScalarType::Float, InvalidArgument, out);
  scale<float>(x, factor, out);
  return out;
}

Tensor& scale_double_out(KernelRuntimeContext&, const Tensor& x, double factor, Tensor& out) {
  scale<double>(x, factor, out);
  return out;
}

}  // namespace native
}  // namespace yaml_ops
