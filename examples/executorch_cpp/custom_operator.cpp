// Registers two operators and runs a program that calls them: custom_operator MODEL
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/kernel/kernel_includes.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstdio>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::EValue;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;

namespace {

// my_ops::mul3(Tensor x) -> Tensor, registered with the macro.
Tensor& mul3_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  ET_KERNEL_CHECK(ctx, executorch::runtime::resize_tensor(out, in.sizes()) == executorch::runtime::Error::Ok,
                  InvalidArgument, out);
  ET_SWITCH_REALHBF16_TYPES(in.scalar_type(), ctx, "mul3.out", CTYPE, [&] {
    const CTYPE* from = in.const_data_ptr<CTYPE>();
    CTYPE* to = out.mutable_data_ptr<CTYPE>();
    for (ssize_t i = 0; i < in.numel(); ++i) to[i] = static_cast<CTYPE>(from[i] * static_cast<CTYPE>(3));
  });
  return out;
}
EXECUTORCH_LIBRARY(my_ops, "mul3.out", mul3_out);

// my_ops::shift(Tensor x, int by) -> Tensor, a boxed function, registered with register_kernel.
void shift_boxed(KernelRuntimeContext& ctx, Span<EValue*> stack) {
  const Tensor& in = stack[0]->toTensor();
  const int64_t by = stack[1]->to<int64_t>();
  Tensor& out = stack[2]->toTensor();
  ET_KERNEL_CHECK_MSG(ctx, in.scalar_type() == ScalarType::Float, InvalidArgument, ,
                      "the input must be float32 (6), not dtype %d", static_cast<int>(in.scalar_type()));
  for (ssize_t i = 0; i < in.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = in.const_data_ptr<float>()[i] + static_cast<float>(by);
  }
}
const auto shift_registered =
    executorch::runtime::register_kernel(executorch::runtime::Kernel("my_ops::shift.out", shift_boxed));

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ET_CHECK(shift_registered == executorch::runtime::Error::Ok);
  ET_CHECK(executorch::runtime::registry_has_op_function("my_ops::mul3.out"));
  executorch::extension::Module module(argv[1]);
  const auto x = executorch::extension::make_tensor_ptr({1.0f, 2.0f, 3.0f});
  const auto result = module.get("forward", EValue(x));
  ET_CHECK_MSG(result.ok(), "the method fails");
  for (ssize_t i = 0; i < 3; ++i) std::printf("%g\n", result->toTensor().const_data_ptr<float>()[i]);
  return 0;
}
