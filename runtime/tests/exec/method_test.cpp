#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

using Floats = std::vector<float>;

TEST(Method, AddsPlannedInputs) {
  Fixture fixture(add_program());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  OwnTensor<float> x({2}, {1, 2}), y({2}, {10, 20});
  const EValue inputs[] = {x.value(), y.value()};
  ASSERT_EQ(fixture.method().set_inputs(inputs), Error::Ok);
  x.data = {0, 0};  // planned inputs are copies
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), (Floats{11, 22}));
  }
}

TEST(Method, RefusesWrongInputs) {
  Fixture fixture(add_program());
  ASSERT_TRUE(fixture.ok());
  Method& method = fixture.method();
  OwnTensor<float> one({1}, {1}), matrix({1, 2}, {1, 2});
  OwnTensor<int32_t> ints({2}, {1, 2});
  EXPECT_EQ(method.set_input(0, one.value()), Error::InvalidArgument);
  EXPECT_MESSAGE("dim 0 of input 0 of method 'forward' has 2 elements, but the tensor given has 1");
  EXPECT_EQ(method.set_input(1, matrix.value()), Error::InvalidArgument);
  EXPECT_MESSAGE("input 1 of method 'forward' has 1 dimension, but the tensor given has 2");
  EXPECT_EQ(method.set_input(1, ints.value()), Error::InvalidArgument);
  EXPECT_MESSAGE("has elements of float32, but the tensor given has int32");
  EXPECT_EQ(method.set_input(1, EValue(int64_t{3})), Error::InvalidType);
  EXPECT_MESSAGE("is a tensor, but the value given is of type Int");
  EXPECT_EQ(method.set_input(2, one.value()), Error::InvalidArgument);
  EXPECT_MESSAGE("has 2 inputs; the index 2 is too large");
  const EValue single[] = {one.value()};
  EXPECT_EQ(method.set_inputs(single), Error::InvalidArgument);
  EXPECT_MESSAGE("has 2 inputs, but 1 is given");
}

TEST(Method, RefusesInputsOfAnotherLayout) {
  ProgramSpec spec = add_program();
  for (int i = 0; i < 3; ++i) spec.plans[0].values[i] = value(planned({2, 2}, 16 * i));
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  OwnTensor<float> turned({2, 2}, {1, 2, 3, 4});
  turned.strides = {1, 2};
  EXPECT_EQ(fixture.method().set_input(0, turned.value()), Error::InvalidArgument);
  EXPECT_MESSAGE("copy it to contiguous memory format");
}

TEST(Method, SharesMemoryThatThePlanLacks) {
  ProgramSpec spec = add_program();
  for (int i = 0; i < 3; ++i) {
    TensorSpec tensor = planned({2}, 0);
    tensor.is_planned = false;
    spec.plans[0].values[i] = value(tensor);
  }
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  Method& method = fixture.method();
  EXPECT_TRUE(method.input_needs_memory(0) && method.output_needs_memory(0));
  EXPECT_EQ(method.execute(), Error::InvalidState);
  EXPECT_MESSAGE("input 0 of method 'forward' has not been set");
  OwnTensor<float> x({2}, {1, 2}), y({2}, {10, 20}), out({2}, {0, 0});
  const EValue inputs[] = {x.value(), y.value()};
  ASSERT_EQ(method.set_inputs(inputs), Error::Ok);
  EXPECT_EQ(method.execute(), Error::InvalidState);
  EXPECT_MESSAGE("output 0 of method 'forward' has no memory");
  EXPECT_EQ(method.set_output_data_ptr(0, out.data.data(), 7), Error::InvalidArgument);
  EXPECT_MESSAGE("needs 8 bytes, but 7 are given");
  EXPECT_EQ(method.set_output_data_ptr(1, out.data.data(), 8), Error::InvalidArgument);
  ASSERT_EQ(method.set_output_data_ptr(0, out.data.data(), 8), Error::Ok);
  x.data = {5, 6};  // the method reads this tensor in place
  ASSERT_EQ(method.execute(), Error::Ok);
  EXPECT_EQ(out.data, (Floats{15, 26}));
}

TEST(Method, RefusesMemoryForPlannedOutputs) {
  Fixture fixture(add_program());
  float memory[2];
  EXPECT_FALSE(fixture.method().output_needs_memory(0));
  EXPECT_EQ(fixture.method().set_output_data_ptr(0, memory, sizeof(memory)), Error::InvalidState);
}

TEST(Method, FollowsDynamicShapesWithinTheirBounds) {
  ProgramSpec spec = add_program();
  for (int i = 0; i < 3; ++i) {
    TensorSpec tensor = planned({4}, 16 * i);
    tensor.dynamism = 1;
    spec.plans[0].values[i] = value(tensor);
  }
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (const int size : {3, 4, 0, 1}) {
    OwnTensor<float> x({size}, Floats(size, 1)), y({size}, Floats(size, 2));
    const EValue inputs[] = {x.value(), y.value()};
    ASSERT_EQ(fixture.method().set_inputs(inputs), Error::Ok) << last_error_message();
    ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), Floats(size, 3));
  }
  OwnTensor<float> big({5}, Floats(5, 1));
  EXPECT_EQ(fixture.method().set_input(0, big.value()), Error::InvalidArgument);
  EXPECT_MESSAGE("dim 0 of input 0 of method 'forward' has at most 4 elements, but the tensor given has 5");
}

ProgramSpec plain_inputs_program() {
  // Inputs: an integer that is used, an unused integer, a number, a bool, a string, None, a symbolic integer as Null.
  ProgramSpec spec;
  PlanSpec plan;
  plan.values = {value(int64_t{2}), value(int64_t{7}), value(1.5), value(true), value("mode"), none(), none(),
                 value(int64_t{0}), value(int64_t{0})};
  plan.inputs = {0, 1, 2, 3, 4, 5, 6};
  plan.outputs = {8};
  plan.operators = {{"test::plus", ""}};
  plan.chains = {{kernel_call(0, {0, 6, 8})}};
  spec.plans = {plan};
  return spec;
}

TEST(Method, TakesPlainInputs) {
  Fixture fixture(plain_inputs_program());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  Method& method = fixture.method();
  const std::string_view mode = "mode", other = "else";
  EXPECT_EQ(method.set_input(0, EValue(int64_t{40})), Error::Ok);
  EXPECT_EQ(method.set_input(1, EValue(int64_t{7})), Error::Ok);
  EXPECT_EQ(method.set_input(1, EValue(int64_t{8})), Error::InvalidArgument);
  EXPECT_MESSAGE("input 1 of method 'forward' was fixed to 7 when it was exported, but 8 is given");
  EXPECT_EQ(method.set_input(2, EValue(1.5)), Error::Ok);
  EXPECT_EQ(method.set_input(2, EValue(2.5)), Error::InvalidArgument);
  EXPECT_EQ(method.set_input(2, EValue(int64_t{1})), Error::InvalidType);
  EXPECT_EQ(method.set_input(3, EValue(true)), Error::Ok);
  EXPECT_EQ(method.set_input(3, EValue(false)), Error::InvalidArgument);
  EXPECT_EQ(method.set_input(4, EValue(&mode)), Error::Ok);
  EXPECT_EQ(method.set_input(4, EValue(&other)), Error::InvalidArgument);
  EXPECT_EQ(method.set_input(5, EValue()), Error::Ok);
  EXPECT_EQ(method.set_input(5, EValue(true)), Error::InvalidType);
  EXPECT_EQ(method.set_input(6, EValue(int64_t{2})), Error::Ok);
  ASSERT_EQ(method.execute(), Error::Ok) << last_error_message();
  EXPECT_EQ(method.get_output(0).to_int(), 42);
}

TEST(Method, ReportsAFailingKernel) {
  ProgramSpec spec = add_program();
  spec.plans[0].operators.push_back({"test::fail", "out"});
  spec.plans[0].chains[0].push_back(kernel_call(1, {0, 2, 2}));
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  EXPECT_EQ(fixture.method().execute(), Error::InvalidArgument);
  EXPECT_STREQ(last_error_message(),
               "method 'forward', instruction 1 of chain 0 (test::fail.out): the kernel does not want to");
  EXPECT_EQ(fixture.method().execute(), Error::InvalidArgument) << "a second run fails the same way";
}

TEST(Method, Steps) {
  ProgramSpec spec = add_program();
  spec.plans[0].chains.push_back({kernel_call(0, {2, 2, 3, 2, 2})});
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  OwnTensor<float> x({2}, {1, 2}), y({2}, {1, 1});
  const EValue inputs[] = {x.value(), y.value()};
  ASSERT_EQ(fixture.method().set_inputs(inputs), Error::Ok);
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(fixture.method().step(), Error::Ok);
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), (Floats{2, 3}));
    EXPECT_EQ(fixture.method().step(), Error::Ok);
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), (Floats{4, 6}));
    EXPECT_EQ(fixture.method().step(), Error::EndOfMethod);
    EXPECT_EQ(fixture.method().reset_execution(), Error::Ok);
  }
}

TEST(Method, GivesScratchMemoryAndTakesItBack) {
  ProgramSpec spec;
  PlanSpec plan;
  plan.values = {value(int64_t{100000}), value(planned({1}, 0))};
  plan.outputs = {1};
  plan.operators = {{"test::scratch", "out"}};
  plan.chains = {{kernel_call(0, {0, 1, 1}), kernel_call(0, {0, 1, 1}), kernel_call(0, {0, 1, 1})}};
  plan.memories = {0, 4};
  spec.plans = {plan};
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
  EXPECT_EQ(floats_of(fixture.method().get_output(0)), (Floats{100000}));
  EXPECT_LT(fixture.loaded->temporary_bytes(), 200000u);
}

TEST(Method, FailsWithoutScratchMemory) {
  ProgramSpec spec;
  PlanSpec plan;
  plan.values = {value(int64_t{100}), value(planned({1}, 0))};
  plan.operators = {{"test::scratch", "out"}};
  plan.chains = {{kernel_call(0, {0, 1, 1})}};
  plan.memories = {0, 4};
  spec.plans = {plan};
  const std::vector<uint8_t> bytes = build(spec);
  const auto program = load_program(bytes);
  alignas(16) uint8_t buffer[4096], arena[16], scratch[64];
  BufferAllocator method_memory(buffer, sizeof(buffer)), temporary(scratch, sizeof(scratch));
  Span<uint8_t> arenas[] = {arena};
  HierarchicalAllocator memories(arenas);
  for (MemoryAllocator* scratch_memory :
       {static_cast<MemoryAllocator*>(nullptr), static_cast<MemoryAllocator*>(&temporary)}) {
    method_memory.reset();
    auto method =
        Method::load(program->program(), "forward", {&method_memory, &memories, scratch_memory}, test_environment());
    ASSERT_TRUE(method.ok()) << last_error_message();
    EXPECT_EQ(method->execute(), Error::MemoryAllocationFailed);
    EXPECT_MESSAGE("(test::scratch.out): a kernel needs 100 bytes of scratch memory");
  }
}

TEST(Method, RunsInMemoryHandedIn) {
  const std::vector<uint8_t> bytes = build(add_program());
  const auto program = load_program(bytes);
  alignas(16) uint8_t buffer[2048], arena[48];
  Span<uint8_t> arenas[] = {arena};
  HierarchicalAllocator memories(arenas);
  // Every smaller allocator gives the error that it is too small.
  size_t enough = 0;
  for (size_t size = 0; size <= sizeof(buffer) && enough == 0; size += 8) {
    BufferAllocator memory(buffer, size);
    auto method = Method::load(program->program(), "forward", {&memory, &memories, nullptr}, test_environment());
    if (!method.ok()) {
      EXPECT_EQ(method.error(), Error::MemoryAllocationFailed);
      EXPECT_MESSAGE("does not fit the method allocator");
      continue;
    }
    enough = size;
    EXPECT_EQ(memory.used(), size);
    EXPECT_EQ(method->execute(), Error::Ok);
  }
  EXPECT_GT(enough, 0u);
  BufferAllocator memory(buffer, sizeof(buffer));
  Span<uint8_t> small[] = {Span<uint8_t>(arena, 40)};
  HierarchicalAllocator small_memories(small);
  EXPECT_EQ(
      Method::load(program->program(), "forward", {&memory, &small_memories, nullptr}, test_environment()).error(),
      Error::MemoryAllocationFailed);
  EXPECT_MESSAGE("needs 48 bytes in planned memory 1, but 40 are given");
  EXPECT_EQ(Method::load(program->program(), "forward", {&memory, nullptr, nullptr}, test_environment()).error(),
            Error::InvalidArgument);
  EXPECT_MESSAGE("needs 1 planned memories, but 0 are given");
}

}  // namespace
}  // namespace rushlight::testing
