#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

using Floats = std::vector<float>;

// forward(p, x) = x + x if p else x - x: a jump over each branch, and a move of the branch's result.
ProgramSpec cond_program(bool tensor_condition) {
  ProgramSpec spec;
  PlanSpec plan;
  TensorSpec condition = planned({}, 0);
  condition.dtype = ScalarType::Bool;
  plan.values = {tensor_condition ? value(condition) : value(true),
                 value(planned({2}, 16)),
                 value(planned({2}, 32)),
                 value(planned({2}, 48)),
                 value(planned({2}, 64)),
                 value(int64_t{1}),
                 value(int64_t{-1}),
                 value(false)};
  plan.inputs = {0, 1};
  plan.outputs = {2};
  plan.operators = {{"test::add", "out"}};
  plan.chains = {{jump_false(0, 4), kernel_call(0, {1, 1, 5, 3, 3}), move_call(3, 2), jump_false(7, 6),
                  kernel_call(0, {1, 1, 6, 4, 4}), move_call(4, 2)}};
  plan.memories = {0, 80};
  spec.plans = {plan};
  return spec;
}

TEST(ControlFlow, ChoosesABranchByATensor) {
  Fixture fixture(cond_program(true));
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  OwnTensor<float> x({2}, {1, 2});
  std::vector<SizesType> none;
  for (const bool truth : {true, false, true}) {
    uint8_t byte = truth;
    TensorImpl condition;
    condition.data = &byte;
    condition.numel = 1;
    condition.dtype = ScalarType::Bool;
    ASSERT_EQ(fixture.method().set_input(0, EValue(&condition)), Error::Ok) << last_error_message();
    ASSERT_EQ(fixture.method().set_input(1, x.value()), Error::Ok);
    ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), truth ? (Floats{2, 4}) : (Floats{0, 0}));
  }
}

// forward(): an instruction that jumps to itself, an endless loop.
ProgramSpec endless_program() {
  ProgramSpec spec;
  PlanSpec plan;
  plan.values = {value(false)};
  plan.outputs = {0};
  plan.chains = {{jump_false(0, 0)}};
  spec.plans = {plan};
  return spec;
}

TEST(Limits, AnEndlessLoopEndsAtTheLimitOfInstructions) {
  Environment environment = test_environment();
  environment.limits.instructions = 1000;
  Fixture fixture(endless_program(), environment);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(fixture.method().execute(), Error::OutOfResources);
    EXPECT_MESSAGE(
        "instruction 0 of chain 0 (jump): the call reached the limit of 1000 instructions (Limits::instructions)");
  }
  ASSERT_EQ(fixture.method().reset_execution(), Error::Ok);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(fixture.method().step(), Error::Ok);
  EXPECT_EQ(fixture.method().step(), Error::OutOfResources);
}

TEST(Limits, ACallAtTheLimitOfInstructionsSucceeds) {
  Environment environment = test_environment();
  environment.limits.instructions = 4;
  Fixture fixture(cond_program(false), environment);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  OwnTensor<float> x({2}, {1, 2});
  for (int i = 0; i < 3; ++i) {
    const EValue inputs[] = {EValue(true), x.value()};
    ASSERT_EQ(fixture.method().set_inputs(inputs), Error::Ok) << last_error_message();
    EXPECT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
  }
}

TEST(ControlFlow, ChoosesABranchByABool) {
  Fixture fixture(cond_program(false));
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  OwnTensor<float> x({2}, {1, 2});
  for (const bool truth : {false, true}) {
    const EValue inputs[] = {EValue(truth), x.value()};
    ASSERT_EQ(fixture.method().set_inputs(inputs), Error::Ok) << last_error_message();
    ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), truth ? (Floats{2, 4}) : (Floats{0, 0}));
  }
}

TEST(ControlFlow, Loops) {
  // i = 0; do { x = x + 1; i = i + 1 } while (i < n): a jump back to the start.
  ProgramSpec spec;
  PlanSpec plan;
  plan.values = {value(int64_t{3}),      value(int64_t{0}), value(int64_t{0}), value(int64_t{1}), value(false),
                 value(planned({1}, 0)), value(false),      int_list({3}),     value(int64_t{0})};
  plan.inputs = {0};
  plan.outputs = {2};
  plan.operators = {{"test::plus", ""}, {"test::less", ""}, {"test::full", "out"}};
  // 0: i = 0; 1: i = i + 1; 2: flag = i < n; 3: leave unless flag; 4: jump to 1, as value 6 is false; 5: the result.
  plan.chains = {{move_call(8, 2), kernel_call(0, {2, 3, 2}), kernel_call(1, {2, 0, 4}), jump_false(4, 5),
                  jump_false(6, 1), kernel_call(2, {7, 2, 5, 5})}};
  plan.memories = {0, 16};
  spec.plans = {plan};
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (const int64_t n : {5, 1, 100}) {
    ASSERT_EQ(fixture.method().set_input(0, EValue(n)), Error::Ok);
    ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
    EXPECT_EQ(fixture.method().get_output(0).to_int(), n);
  }
}

TEST(ControlFlow, ListsFollowTheirItems) {
  // full() takes its size list from a value that is computed at run time.
  ProgramSpec spec;
  PlanSpec plan;
  TensorSpec x = planned({4, 2}, 0), out = planned({4}, 32);
  x.dynamism = out.dynamism = 1;
  plan.values = {value(x), value(out), value(int64_t{0}), value(int64_t{0}), int_list({3}), value(2.5)};
  plan.inputs = {0};
  plan.outputs = {1};
  plan.operators = {{"test::size", ""}, {"test::full", "out"}};
  plan.chains = {{kernel_call(0, {0, 2, 3}), kernel_call(1, {4, 5, 1, 1})}};
  plan.memories = {0, 48};
  spec.plans = {plan};
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (const int size : {3, 1, 4}) {
    OwnTensor<float> input({size, 2}, Floats(2 * size));
    ASSERT_EQ(fixture.method().set_input(0, input.value()), Error::Ok) << last_error_message();
    ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), Floats(size, 2.5f));
  }
}

TEST(ControlFlow, AMoveDoesNotMisleadTheNextInput) {
  // An instruction moves another tensor to the input's value; the next set_input() must not write to this other tensor.
  ProgramSpec spec = add_program();
  spec.plans[0].chains[0].push_back(move_call(2, 0));
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  OwnTensor<float> x({2}, {1, 2}), y({2}, {10, 20});
  const EValue inputs[] = {x.value(), y.value()};
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(fixture.method().set_inputs(inputs), Error::Ok);
    ASSERT_EQ(fixture.method().execute(), Error::Ok);
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), (Floats{11, 22}));
  }
}

TEST(ControlFlow, AKernelCannotChangeWhatAValueIs) {
  ProgramSpec spec = add_program();
  spec.plans[0].operators.push_back({"test::size", ""});
  spec.plans[0].chains[0].push_back(kernel_call(1, {0, 3, 1}));  // writes an integer over a tensor
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(fixture.method().execute(), Error::InvalidType);
    EXPECT_MESSAGE("(test::size): argument 2 is a Tensor and cannot hold the result, a Int");
    EXPECT_TRUE(fixture.method().get_input(1).is_tensor());
  }
}

TEST(ControlFlow, FreesUnboundedTensors) {
  ProgramSpec spec = add_program();
  TensorSpec tensor = planned({3}, 0);
  tensor.is_planned = false;
  tensor.dynamism = 2;
  spec.plans[0].values.push_back(value(tensor));
  spec.plans[0].outputs.push_back(4);
  spec.plans[0].chains[0].push_back(free_call(4));
  spec.plans[0].chains[0].push_back(free_call(3));
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
  EXPECT_EQ(fixture.method().get_output(1).to_tensor().numel(), 0);
}

}  // namespace
}  // namespace rushlight::testing
