#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

using Floats = std::vector<float>;

// Returns the error of loading add_program() after a change.
template <typename Change>
Error load_error(const Change& change) {
  ProgramSpec spec = add_program();
  change(spec.plans[0]);
  Fixture fixture(spec);
  return fixture.error;
}

TEST(MethodLoad, NamesTheMethodsThereAre) {
  ProgramSpec spec = add_program();
  spec.plans.push_back(spec.plans[0]);
  spec.plans[1].name = "encode";
  Fixture fixture(spec, test_environment(), nullptr, "decode");
  EXPECT_EQ(fixture.error, Error::NotFound);
  EXPECT_EQ(fixture.message, "the program has no method 'decode'; it has forward, encode");
}

TEST(MethodLoad, NamesAllMissingOperators) {
  EXPECT_EQ(load_error([](PlanSpec& plan) {
              plan.operators.push_back({"lib::absent", "out"});
              plan.operators.push_back({"lib::gone", ""});
            }),
            Error::OperatorMissing);
  EXPECT_MESSAGE("method 'forward' calls 2 operators that have no kernel here: lib::absent.out, lib::gone (");
  EXPECT_EQ(load_error([](PlanSpec& plan) {
              for (int i = 0; i < 100; ++i) plan.operators.push_back({"lib::absent" + std::to_string(i), "out"});
            }),
            Error::OperatorMissing);
  EXPECT_MESSAGE("calls 100 operators");
  EXPECT_MESSAGE(", ... (load");
}

TEST(MethodLoad, ChecksArguments) {
  EXPECT_EQ(load_error([](PlanSpec& plan) { plan.chains[0][0] = kernel_call(0, {0, 1, 2, 2, 2}); }),
            Error::InvalidProgram);
  EXPECT_MESSAGE("instruction 0 of chain 0: argument 2 of test::add.out must be a number, but value 2 is a Tensor");
  EXPECT_EQ(load_error([](PlanSpec& plan) { plan.chains[0][0] = kernel_call(0, {0, 1, 3}); }), Error::InvalidProgram);
  EXPECT_MESSAGE("test::add.out takes 4 arguments, but 3 are given");
  EXPECT_EQ(load_error([](PlanSpec& plan) { plan.chains[0][0] = kernel_call(0, {0, 1, 3, 2, 2, 2}); }),
            Error::InvalidProgram);
  EXPECT_EQ(load_error([](PlanSpec& plan) { plan.chains[0][0] = kernel_call(0, {0, 1, 3, 2}); }), Error::Ok);
}

TEST(MethodLoad, ChecksTheDtypeOfTheKernel) {
  EXPECT_EQ(load_error([](PlanSpec& plan) {
              TensorSpec tensor = planned({2}, 0);
              tensor.dtype = ScalarType::Int;
              plan.values[0] = value(tensor);
            }),
            Error::NotSupported);
  EXPECT_MESSAGE("the kernel of test::add.out does not support tensors of int32 as argument 0");
}

TEST(MethodLoad, ChecksTheDtypesOfAllArguments) {
  const auto with_int = [](size_t index) {
    return load_error([index](PlanSpec& plan) {
      TensorSpec tensor = planned({2}, 16 * index);
      tensor.dtype = ScalarType::QInt32;
      plan.values[index] = value(tensor);
    });
  };
  EXPECT_EQ(with_int(1), Error::NotSupported);
  EXPECT_MESSAGE(
      "instruction 0 of chain 0: the kernel of test::add.out does not support tensors of qint32 as argument 1");
  EXPECT_EQ(with_int(2), Error::NotSupported);
  EXPECT_MESSAGE("as argument 3");
}

void add_ints(KernelRuntimeContext&, const Tensor&, const Tensor&, const Scalar&, Tensor& out) {
  out.mutable_data_ptr<int32_t>()[0] = 7;
}

TEST(MethodLoad, TakesTheFirstTableThatHasTheDtype) {
  const Kernel row[] = {{"test::add.out", boxed<&add_ints>, DtypeSet(ScalarType::Int)}};
  const KernelTable tables[] = {test_kernels(), KernelTable(row)};
  Environment environment;
  environment.kernels = tables;
  ProgramSpec spec = add_program();
  for (int i = 0; i < 3; ++i) {
    TensorSpec tensor = planned({2}, 16 * i);
    tensor.dtype = ScalarType::Int;
    spec.plans[0].values[i] = value(tensor);
  }
  Fixture fixture(spec, environment);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  ASSERT_EQ(fixture.method().execute(), Error::Ok);
  EXPECT_EQ(fixture.method().get_output(0).to_tensor().const_data_ptr<int32_t>()[0], 7);
}

ProgramSpec constant_program() {
  ProgramSpec spec = add_program();
  TensorSpec tensor = planned({2}, 0);
  tensor.is_planned = false;
  tensor.data = 1;
  spec.plans[0].values.push_back(value(tensor));  // value 4
  spec.constants = {0, {0, 16}};
  spec.segments = {{0, 24}};
  spec.segment_data = std::vector<uint8_t>(24);
  const float numbers[] = {5, 6};
  std::memcpy(spec.segment_data.data() + 16, numbers, sizeof(numbers));
  return spec;
}

TEST(MethodLoad, UsesConstantsInPlace) {
  ProgramSpec spec = constant_program();
  spec.plans[0].chains[0][0] = kernel_call(0, {0, 4, 3, 2, 2});
  Fixture fixture(spec);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  OwnTensor<float> x({2}, {1, 2});
  ASSERT_EQ(fixture.method().set_input(0, x.value()), Error::Ok);
  ASSERT_EQ(fixture.method().execute(), Error::Ok);
  EXPECT_EQ(floats_of(fixture.method().get_output(0)), (Floats{6, 8}));
}

TEST(MethodLoad, KeepsConstantsFromBeingWritten) {
  ProgramSpec spec = constant_program();
  spec.plans[0].chains[0][0] = kernel_call(0, {0, 1, 3, 4, 4});
  Fixture direct(spec);
  EXPECT_EQ(direct.error, Error::InvalidProgram);
  EXPECT_NE(direct.message.find("test::add.out writes value 4, which is a constant"), std::string::npos)
      << direct.message;

  spec.plans[0].chains[0] = {move_call(4, 2), kernel_call(0, {0, 1, 3, 2, 2})};
  Fixture moved(spec);
  EXPECT_EQ(moved.error, Error::InvalidProgram);
  EXPECT_NE(moved.message.find("writes value 2, which is a constant"), std::string::npos) << moved.message;

  spec.plans[0].operators.push_back({"test::each", "out"});
  spec.plans[0].values.push_back(tensor_list({0}));
  spec.plans[0].values.push_back(tensor_list({4}));
  spec.plans[0].chains[0] = {kernel_call(1, {5, 6, 6})};
  Fixture listed(spec);
  EXPECT_EQ(listed.error, Error::InvalidProgram);
  EXPECT_NE(listed.message.find("test::each.out writes value 6, which is a constant"), std::string::npos)
      << listed.message;
}

void view(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t>, Tensor& out) {
  out.impl()->data = in.mutable_data_ptr();
  out.impl()->capacity = in.impl()->capacity;
  if (in.const_data_ptr<float>()[0] < 0) context.fail(Error::InvalidArgument, "not today");
}

// Returns an environment with an operator whose out is a view of its input.
Environment view_environment() {
  static const Kernel row[] = {{"executorch_prim::et_view.default", boxed<&view>, DtypeSet(ScalarType::Float)}};
  static const KernelTable tables[] = {test_kernels(), KernelTable(row)};
  Environment environment;
  environment.kernels = tables;
  return environment;
}

TEST(MethodLoad, KeepsViewsOfConstantsFromBeingWritten) {
  ProgramSpec spec = constant_program();
  spec.plans[0].operators.push_back({"executorch_prim::et_view", "default"});
  spec.plans[0].values.push_back(int_list({3}));
  spec.plans[0].values.push_back(value(planned({2}, 0)));
  spec.plans[0].values.push_back(value(planned({2}, 0)));
  spec.plans[0].chains[0] = {kernel_call(1, {4, 5, 7}), kernel_call(1, {7, 5, 6}), kernel_call(0, {0, 0, 3, 6, 6})};
  Fixture fixture(spec, view_environment());
  EXPECT_EQ(fixture.error, Error::InvalidProgram);
  EXPECT_NE(fixture.message.find("test::add.out writes value 6, which is a constant"), std::string::npos)
      << fixture.message;
}

TEST(MethodLoad, ViewsHaveTheirOwnMemoryAgainBeforeEachRun) {
  ProgramSpec spec = add_program();
  spec.plans[0].operators.push_back({"executorch_prim::et_view", "default"});
  spec.plans[0].values.push_back(int_list({3}));
  spec.plans[0].chains[0].push_back(kernel_call(1, {0, 4, 2}));
  Fixture fixture(spec, view_environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  TensorImpl* viewed = fixture.method().get_output(0).to_tensor().impl();
  void* const own = viewed->data;
  for (const float number : {1.0f, -1.0f}) {
    OwnTensor<float> x({2}, {number, 2}), y({2}, {10, 20});
    const EValue inputs[] = {x.value(), y.value()};
    EXPECT_EQ(fixture.method().reset_execution(), Error::Ok);
    EXPECT_EQ(viewed->data, own);
    ASSERT_EQ(fixture.method().set_inputs(inputs), Error::Ok);
    EXPECT_EQ(fixture.method().execute(), number > 0 ? Error::Ok : Error::InvalidArgument);
    EXPECT_EQ(viewed->data == own, number < 0) << "also after a failure";
  }
}

// add_program() with a view of the first input. The view, value 5, has no planned memory.
ProgramSpec unplanned_view_program() {
  ProgramSpec spec = add_program();
  PlanSpec& plan = spec.plans[0];
  plan.operators.push_back({"executorch_prim::et_view", "default"});
  plan.values.push_back(int_list({3}));
  TensorSpec tensor = planned({2}, 0);
  tensor.is_planned = false;
  plan.values.push_back(value(tensor));
  plan.chains[0] = {kernel_call(1, {0, 4, 5}), kernel_call(0, {5, 1, 3, 2, 2})};
  return spec;
}

TEST(MethodLoad, ViewsOfInputsNeedNoPlannedMemory) {
  Fixture fixture(unplanned_view_program(), view_environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
}

TEST(MethodLoad, RefusesUsesOfViewsBeforeTheirCalls) {
  ProgramSpec spec = unplanned_view_program();
  std::reverse(spec.plans[0].chains[0].begin(), spec.plans[0].chains[0].end());
  Fixture fixture(spec, view_environment());
  EXPECT_EQ(fixture.error, Error::InvalidProgram);
  EXPECT_NE(fixture.message.find("uses value 5, a tensor with neither data nor planned memory"), std::string::npos)
      << fixture.message;
}

TEST(MethodLoad, RefusesViewsThatAJumpSkips) {
  ProgramSpec spec = unplanned_view_program();
  spec.plans[0].values.push_back(value(false));
  auto& chain = spec.plans[0].chains[0];
  chain.insert(chain.begin(), jump_false(6, 2));
  Fixture fixture(spec, view_environment());
  EXPECT_EQ(fixture.error, Error::InvalidProgram);
  EXPECT_NE(fixture.message.find("a jump may skip the call that sets the memory of value 5"), std::string::npos)
      << fixture.message;
}

TEST(MethodLoad, RefusesBoolsThatAreNone) {
  ProgramSpec spec = constant_program();
  TensorSpec tensor = planned({4}, 0);
  tensor.is_planned = false;
  tensor.dtype = ScalarType::Bool;
  tensor.data = 1;
  spec.plans[0].values.push_back(value(tensor));
  spec.segment_data[16] = 1;
  spec.segment_data[17] = 0;
  spec.segment_data[18] = 1;
  spec.segment_data[19] = 1;
  EXPECT_TRUE(Fixture(spec).ok());
  spec.segment_data[18] = 2;
  Fixture fixture(spec);
  EXPECT_EQ(fixture.message, "value 5 of method 'forward' is a bool tensor with the invalid element 2");
}

TEST(MethodLoad, StartsStateFromItsInitialValueAndKeepsIt) {
  // Value 4 is a counter: it starts at (5, 6), and every run adds the first input to it.
  ProgramSpec spec = constant_program();
  TensorSpec state = planned({2}, 48);
  state.data = 1;
  state.name = "counter";
  spec.plans[0].values[4] = value(state);
  spec.plans[0].memories = {0, 64};
  spec.mutable_segments = {spec.constants};
  spec.constants = {};
  spec.plans[0].chains[0] = {kernel_call(0, {4, 0, 3, 4, 4})};
  spec.plans[0].outputs = {4};
  Fixture first(spec), second(spec);
  ASSERT_TRUE(first.ok()) << first.message;
  OwnTensor<float> x({2}, {1, 2});
  ASSERT_EQ(first.method().set_input(0, x.value()), Error::Ok);
  for (int run = 1; run <= 3; ++run) {
    ASSERT_EQ(first.method().execute(), Error::Ok);
    const auto scale = static_cast<float>(run);
    EXPECT_EQ(floats_of(first.method().get_output(0)), (Floats{5 + scale, 6 + 2 * scale}));
  }
  EXPECT_EQ(floats_of(second.method().get_output(0)), (Floats{5, 6})) << "each method has its own";
  const auto attribute = first.method().get_attribute("counter");
  ASSERT_TRUE(attribute.ok());
  EXPECT_EQ(attribute->const_data_ptr<float>()[0], 8);
  ASSERT_EQ(first.method().reset_state(), Error::Ok);
  EXPECT_EQ(attribute->const_data_ptr<float>()[0], 5);
  ASSERT_EQ(first.method().set_input(0, x.value()), Error::Ok);
  ASSERT_EQ(first.method().execute(), Error::Ok);
  EXPECT_EQ(floats_of(first.method().get_output(0)), (Floats{6, 8}));
  EXPECT_EQ(first.method().get_attribute("count").error(), Error::NotFound);
  EXPECT_MESSAGE("has no buffer or parameter named 'count'");
}

TEST(MethodLoad, StartsStateWithoutInitialValueAtZero) {
  ProgramSpec spec = add_program();
  spec.plans[0].values.push_back(value(planned({2}, 48)));
  spec.plans[0].memories = {0, 64};
  spec.plans[0].chains[0] = {kernel_call(0, {4, 0, 3, 4, 4})};
  spec.plans[0].outputs = {4};
  const std::vector<uint8_t> bytes = build(spec);
  const auto program = load_program(bytes);
  alignas(16) uint8_t buffer[4096], arena[64];
  std::memset(arena, 0x7f, sizeof(arena));
  BufferAllocator memory(buffer, sizeof(buffer));
  Span<uint8_t> arenas[] = {arena};
  HierarchicalAllocator memories(arenas);
  auto method = Method::load(program->program(), "forward", {&memory, &memories, nullptr}, test_environment());
  ASSERT_TRUE(method.ok()) << last_error_message();
  OwnTensor<float> x({2}, {1, 2});
  ASSERT_EQ(method->set_input(0, x.value()), Error::Ok);
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats_of(method->get_output(0)), (Floats{1, 2}));
    ASSERT_EQ(method->reset_state(), Error::Ok);
    ASSERT_EQ(method->set_input(0, x.value()), Error::Ok);
  }
}

TEST(MethodLoad, RefusesOnlyMethodsForAnotherDevice) {
  const std::string message = "method 'other' is planned for another device than the CPU";
  for (const bool is_tensor : {false, true}) {
    ProgramSpec spec = add_program();
    spec.plans.push_back(spec.plans[0]);
    spec.plans[1].name = "other";
    if (is_tensor) {
      TensorSpec tensor = planned({2}, 0);
      tensor.device = 1;
      spec.plans[1].values.push_back(value(tensor));
    } else {
      spec.plans[1].devices = {{1, 1}};
    }
    Fixture other(spec, test_environment(), nullptr, "other");
    EXPECT_EQ(other.error, Error::NotSupported);
    EXPECT_EQ(other.message, message);
    EXPECT_EQ(Fixture(spec, test_environment(), nullptr, "forward").error, Error::Ok);
  }
}

TEST(MethodLoad, NamesMissingBackends) {
  ProgramSpec spec = add_program();
  spec.plans[0].delegates = {{"NoBackend", 0, 0, {}}};
  spec.inline_delegate_data = {{1}};
  Fixture fixture(spec);
  EXPECT_EQ(fixture.error, Error::NotFound);
  EXPECT_NE(fixture.message.find("needs backends that are missing here: NoBackend ("), std::string::npos);
}

TEST(MethodLoad, NeedsExternalData) {
  ProgramSpec spec = add_program();
  TensorSpec tensor = planned({2}, 0);
  tensor.is_planned = false;
  tensor.location = 1;
  tensor.name = "layer.weight";
  spec.plans[0].values.push_back(value(tensor));
  Fixture fixture(spec);
  EXPECT_EQ(fixture.error, Error::NotFound);
  EXPECT_NE(fixture.message.find("value 4 of method 'forward' needs 'layer.weight' from a data file (.ptd)"),
            std::string::npos)
      << fixture.message;
}

}  // namespace
}  // namespace rushlight::testing
