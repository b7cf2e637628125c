#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h"
#include "executorch/extension/module/module.h"
#include "executorch/extension/tensor/tensor.h"
#include "executorch/runtime/core/exec_aten/testing_util/tensor_factory.h"
#include "executorch/runtime/core/exec_aten/testing_util/tensor_util.h"
#include "executorch/runtime/kernel/kernel_includes.h"
#include "tests/executorch/programs.h"

namespace executorch {
namespace {

using aten::ScalarType;
using aten::Tensor;
using extension::Module;
using runtime::Error;
using runtime::EValue;
using runtime::Kernel;
using runtime::KernelRuntimeContext;
using runtime::Result;
using runtime::Span;

int calls[3] = {};

Tensor& plain(const Tensor& a, const Tensor&, aten::Scalar, Tensor& out) {
  ++calls[0];
  std::memcpy(out.mutable_data_ptr(), a.const_data_ptr(), out.nbytes());
  return out;
}
Tensor& for_doubles(KernelRuntimeContext&, const Tensor& a, const Tensor& b, const aten::Scalar&, Tensor& out) {
  ++calls[1];
  for (int i = 0; i < 2; ++i) {
    out.mutable_data_ptr<double>()[i] = a.const_data_ptr<double>()[i] * b.const_data_ptr<double>()[i];
  }
  return out;
}
void boxed(KernelRuntimeContext& context, Span<EValue*> stack) {
  ++calls[2];
  if (stack.size() != 5) return context.fail(Error::InvalidArgument);
  stack[3]->toTensor().mutable_data_ptr<float>()[0] = stack[2]->to<aten::Scalar>().to<float>();
  Result<void*> scratch = context.allocate_temp(32);
  if (!scratch.ok()) context.fail(scratch.error());
}

EXECUTORCH_LIBRARY(test_ops, "keyed.out", plain);
const Error keyed_registered = runtime::register_kernel(extension::make_boxed_kernel(
    "test_ops::keyed.out", EXECUTORCH_FN(for_doubles), runtime::KernelKey("v1/7;0|7;0|7;0")));
const Error boxed_registered = runtime::register_kernel(Kernel("test_ops::boxed.out", boxed));

TEST(ExecuTorchKernels, AreChosenByTheirKeys) {
  ASSERT_EQ(keyed_registered, Error::Ok);
  int loads = 0;
  std::memset(calls, 0, sizeof(calls));
  Module on_floats(loader_of(adding("test_ops::keyed", "out"), &loads));
  const auto x = extension::make_tensor_ptr({3.0f, 4.0f});
  auto outputs = on_floats.forward({x, x});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(floats(outputs->at(0)), (std::vector<float>{3, 4}));
  Module on_doubles(loader_of(adding("test_ops::keyed", "out", ScalarType::Double), &loads));
  const auto y = extension::make_tensor_ptr({3.0, 4.0});
  auto doubles = on_doubles.forward({y, y});
  ASSERT_TRUE(doubles.ok());
  EXPECT_EQ(doubles->at(0).toTensor().const_data_ptr<double>()[1], 16.0);
  EXPECT_EQ(calls[0], 1);
  EXPECT_EQ(calls[1], 1);
}

TEST(ExecuTorchKernels, MayTakeAStackOfValues) {
  ASSERT_EQ(boxed_registered, Error::Ok);
  int loads = 0;
  Module module(loader_of(adding("test_ops::boxed", "out"), &loads));
  const auto x = extension::make_tensor_ptr({3.0f, 4.0f});
  auto outputs = module.forward({x, x});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(floats(outputs->at(0))[0], 1.0f) << "alpha";
}

TEST(ExecuTorchKernels, AreRegisteredOnce) {
  EXPECT_EQ(runtime::register_kernel(Kernel("test_ops::boxed.out", boxed)), Error::RegistrationAlreadyRegistered);
  EXPECT_TRUE(runtime::registry_has_op_function("test_ops::boxed.out"));
  EXPECT_TRUE(runtime::registry_has_op_function("aten::add.out")) << "the runtime's own";
  EXPECT_FALSE(runtime::registry_has_op_function("test_ops::absent.out"));
  EXPECT_EQ(runtime::get_op_function_from_registry("test_ops::absent.out").error(), Error::OperatorMissing);
  aten::DimOrderType order[] = {0};
  const runtime::TensorMeta meta(ScalarType::Double, {order, size_t{1}});
  const runtime::TensorMeta metas[] = {meta, meta, meta};
  EXPECT_NE(*runtime::get_op_function_from_registry("test_ops::keyed.out", metas),
            *runtime::get_op_function_from_registry("test_ops::keyed.out"));
  int loads = 0;
  Module module(loader_of(adding("test_ops::absent", "out"), &loads));
  EXPECT_EQ(module.load_forward(), Error::OperatorMissing);
}

TEST(ExecuTorchKernels, OfTheRuntimeAreListed) {
  const Span<const Kernel> all = runtime::get_registered_kernels();
  EXPECT_STREQ(all[0].name_, "test_ops::keyed.out") << "kernels of the application come first";
  const Kernel* add = nullptr;
  for (const Kernel& kernel : all) {
    if (std::strcmp(kernel.name_, "aten::add.out") != 0) continue;
    EXPECT_EQ(add, nullptr) << "each name is listed once";
    add = &kernel;
  }
  ASSERT_NE(add, nullptr);
  EXPECT_TRUE(add->kernel_key_.is_fallback());
  EXPECT_EQ(add->op_, *runtime::get_op_function_from_registry("aten::add.out"));
  EXPECT_EQ(all.size(), ::torch::executor::get_kernels().size());
}

TEST(ExecuTorchKernels, OfTheRuntimeAreCalledWithAStack) {
  runtime::testing::TensorFactory<ScalarType::Float> tensors;
  EValue values[] = {tensors.make({2}, {3, 4}), tensors.make({2}, {1, 2}), aten::Scalar(2), tensors.zeros({2})};
  EValue* stack[] = {&values[0], &values[1], &values[2], &values[3]};
  const runtime::OpFunction add = ::torch::executor::getOpsFn("aten::add.out");
  KernelRuntimeContext context;
  add(context, stack);
  EXPECT_EQ(context.failure_state(), Error::Ok);
  EXPECT_EQ(floats(values[3]), (std::vector<float>{5, 8}));
  KernelRuntimeContext with_few;
  add(with_few, {stack, size_t{3}});
  EXPECT_EQ(with_few.failure_state(), Error::InvalidArgument);
  stack[1] = &values[2];
  KernelRuntimeContext with_number;
  add(with_number, stack);
  EXPECT_EQ(with_number.failure_state(), Error::InvalidArgument) << "the second argument is no tensor";
  runtime::testing::TensorFactory<ScalarType::Int> integers;
  EValue codes[] = {integers.make({2}, {3, 4}), aten::Scalar(0.5), integers.zeros({2})};
  EValue* code_stack[] = {&codes[0], &codes[1], &codes[2]};
  KernelRuntimeContext with_codes;
  ::torch::executor::getOpsFn("aten::leaky_relu.out")(with_codes, code_stack);
  EXPECT_EQ(with_codes.failure_state(), Error::InvalidArgument) << "the kernel has no integer dtype";
}

TEST(ExecuTorchKernels, MayBeLambdas) {
  const runtime::OpFunction absent = nullptr;
  EXPECT_FALSE(absent);
  const Kernel kernel("test_ops::lambda.out",
                      [](KernelRuntimeContext& context, Span<EValue*>) { context.fail(Error::NotSupported); });
  EXPECT_NE(kernel.op_, absent);
  KernelRuntimeContext context;
  kernel.op_(context, {});
  EXPECT_EQ(context.failure_state(), Error::NotSupported);
}

TEST(ExecuTorchKernels, AreCalledDirectlyInTests) {
  runtime::testing::TensorFactory<ScalarType::Double> tensors;
  const Tensor a = tensors.make({2}, {3, 4});
  Tensor out = tensors.zeros({2});
  KernelRuntimeContext context;
  for_doubles(context, a, tensors.full({2}, 2), 1, out);
  EXPECT_TENSOR_EQ(out, tensors.make({2}, {6, 8}));
  EXPECT_TENSOR_CLOSE_WITH_TOL(out, tensors.make({2}, {6.01, 8}), 0.01, 0);
  EXPECT_TENSOR_NE(out, tensors.make({2}, {6.01, 8}));
  EXPECT_EQ(context.failure_state(), Error::Ok);
  EXPECT_EQ(context.allocate_temp(8).error(), Error::NotFound) << "there is no allocator";
  uint8_t pool[8];
  runtime::MemoryAllocator scratch(sizeof(pool), pool);
  KernelRuntimeContext with_scratch(nullptr, &scratch);
  EXPECT_EQ(*with_scratch.allocate_temp(8, 1), pool);
  EXPECT_EQ(with_scratch.allocate_temp(8, 1).error(), Error::MemoryAllocationFailed);
  EXPECT_EQ(with_scratch.failure_state(), Error::Ok);
}

}  // namespace
}  // namespace executorch
