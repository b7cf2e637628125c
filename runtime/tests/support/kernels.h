// Small kernels and programs for tests of the code that runs them.
#pragma once

#include <vector>

#include "rushlight/core/kernel.h"
#include "tests/support/program_builder.h"

namespace rushlight::testing {

// Computes out = a + alpha * b for float tensors of one shape.
inline void add_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out) {
  const Error error = resize_tensor(out, a.sizes());
  RL_KERNEL_REQUIRE(context, error == Error::Ok, InvalidArgument, "%s", last_error_message());
  RL_KERNEL_REQUIRE(context, same_shape(a, b), InvalidArgument, "shapes differ");
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = a.const_data_ptr<float>()[i] + alpha.to<float>() * b.const_data_ptr<float>()[i];
  }
}

inline void fail_out(KernelRuntimeContext& context, const Tensor&, Tensor&) {
  context.fail(Error::InvalidArgument, "the kernel does not want to");
}

// Sets `n` bytes of scratch memory to 1 and adds them up.
inline void scratch_out(KernelRuntimeContext& context, int64_t n, Tensor& out) {
  auto* bytes = context.allocate_temporary_array<uint8_t>(static_cast<size_t>(n));
  if (!bytes) return;
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) bytes[i] = 1;
  for (int64_t i = 0; i < n; ++i) sum += bytes[i];
  out.mutable_data_ptr<float>()[0] = sum;
}

inline void size_value(KernelRuntimeContext&, const Tensor& a, int64_t axis, EValue& out) {
  out = EValue(a.size(axis));
}
inline void less_value(KernelRuntimeContext&, EValue& a, EValue& b, EValue& out) {
  out = EValue(a.to_int() < b.to_int());
}
inline void plus_value(KernelRuntimeContext&, EValue& a, EValue& b, EValue& out) {
  out = EValue(a.to_int() + b.to_int());
}

// Resizes `out` to the list `size` and fills it with the number.
inline void full_out(KernelRuntimeContext& context, Span<const int64_t> size, const Scalar& number, Tensor& out) {
  SizesType sizes[kMaxDim];
  for (size_t i = 0; i < size.size(); ++i) sizes[i] = static_cast<SizesType>(size[i]);
  const Error error = resize_tensor(out, {sizes, size.size()});
  RL_KERNEL_REQUIRE(context, error == Error::Ok, InvalidArgument, "%s", last_error_message());
  for (int64_t i = 0; i < out.numel(); ++i) out.mutable_data_ptr<float>()[i] = number.to<float>();
}

// Copies each input to the out with the same index.
inline void each_out(KernelRuntimeContext&, Span<const Tensor> in, Span<Tensor> out) {
  for (size_t i = 0; i < in.size(); ++i) {
    for (int64_t j = 0; j < in[i].numel(); ++j) {
      out[i].mutable_data_ptr<float>()[j] = in[i].const_data_ptr<float>()[j];
    }
  }
}

inline KernelTable test_kernels() {
  static const DtypeSet floats(ScalarType::Float);
  static const Kernel rows[] = {
      {"test::add.out", boxed<&add_out>, floats},         {"test::each.out", boxed<&each_out>, floats},
      {"test::fail.out", boxed<&fail_out>, floats},       {"test::full.out", boxed<&full_out>, floats},
      {"test::less", boxed<&less_value>, DtypeSet()},     {"test::plus", boxed<&plus_value>, DtypeSet()},
      {"test::scratch.out", boxed<&scratch_out>, floats}, {"test::size", boxed<&size_value>, dtypes::kAll},
  };
  return rows;
}

inline TensorSpec planned(std::vector<int32_t> sizes, uint64_t offset) {
  TensorSpec spec;
  spec.sizes = std::move(sizes);
  spec.offset = offset;
  return spec;
}

// forward(x, y) = x + y, with three planned tensors of two floats.
inline ProgramSpec add_program() {
  PlanSpec plan;
  plan.values = {value(planned({2}, 0)), value(planned({2}, 16)), value(planned({2}, 32)), value(int64_t{1})};
  plan.inputs = {0, 1};
  plan.outputs = {2};
  plan.operators = {{"test::add", "out"}};
  plan.chains = {{kernel_call(0, {0, 1, 3, 2, 2})}};
  plan.memories = {0, 48};
  ProgramSpec program;
  program.plans = {plan};
  return program;
}

}  // namespace rushlight::testing
