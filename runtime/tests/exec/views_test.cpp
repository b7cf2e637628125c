// Hostile programs with views, moves and instructions that free tensors. Each must give an error or a clean run: no
// instruction may use memory that a tensor has left. The address sanitizer makes these tests stricter.

#include <utility>

#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

using Floats = std::vector<float>;

// The kernel of views: `out` has the memory of `in` and the given sizes.
void view(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes, Tensor& out) {
  SizesType shape[kMaxDim];
  for (size_t i = 0; i < sizes.size(); ++i) shape[i] = static_cast<SizesType>(sizes[i]);
  RL_KERNEL_REQUIRE(context, checked_numel({shape, sizes.size()}) == in.numel(), InvalidArgument, "another size");
  out.impl()->data = in.mutable_data_ptr();
  out.impl()->capacity = in.nbytes();
  const Error error = resize_tensor(out, {shape, sizes.size()});
  RL_KERNEL_REQUIRE(context, error == Error::Ok, InvalidArgument, "%s", last_error_message());
  out.impl()->capacity = in.impl()->capacity;
}

// A backend that writes ones into its last argument.
class OnesBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }
  Result<DelegateHandle*> init(BackendInitContext&, FreeableBuffer*, Span<const CompileSpec>) override {
    return static_cast<DelegateHandle*>(this);
  }
  Error execute(BackendExecutionContext&, DelegateHandle*, Span<EValue* const> arguments) override {
    const Tensor out = arguments[arguments.size() - 1]->to_tensor();
    RL_TRY(resize_tensor(out, out.sizes()));
    for (int64_t i = 0; i < out.numel(); ++i) out.mutable_data_ptr<float>()[i] = 1;
    return Error::Ok;
  }
  void destroy(DelegateHandle*) override {}
};

Environment environment() {
  static const Kernel row[] = {{"executorch_prim::et_view.default", boxed<&view>, DtypeSet(ScalarType::Float)}};
  static const KernelTable tables[] = {test_kernels(), KernelTable(row)};
  static OnesBackend backend;
  static const Backend backends[] = {{"Ones", &backend}};
  Environment environment;
  environment.kernels = tables;
  environment.backends = backends;
  environment.limits.memory = size_t{1} << 20;
  return environment;
}

TensorSpec unplanned(std::vector<int32_t> sizes, int8_t dynamism = 0) {
  TensorSpec spec = planned(std::move(sizes), 0);
  spec.is_planned = false;
  spec.dynamism = dynamism;
  return spec;
}

constexpr int32_t kAdd = 0, kFull = 1, kView = 2, kFail = 3;
constexpr int8_t kUnbounded = 2;

// The values of each program: 0 and 1 are inputs of two floats, and 2 an output of two floats, all with planned memory.
// The values 3 to 8 are numbers and lists of sizes. Further values begin with 9.
constexpr int32_t kX = 0, kOut = 2, kOne = 3, kTwo = 6, kMany = 8;
constexpr int32_t kElements = 64;  // of kMany

ProgramSpec program(const std::vector<TensorSpec>& tensors, const std::vector<NodePtr>& instructions) {
  ProgramSpec spec = add_program();
  PlanSpec& plan = spec.plans[0];
  plan.values.push_back(value(int64_t{2}));          // 4
  plan.values.push_back(value(int64_t{kElements}));  // 5
  plan.values.push_back(int_list({4}));              // 6
  plan.values.push_back(int_list({3}));              // 7
  plan.values.push_back(int_list({5}));              // 8
  for (const TensorSpec& tensor : tensors) plan.values.push_back(value(tensor));
  plan.operators = {
      {"test::add", "out"}, {"test::full", "out"}, {"executorch_prim::et_view", "default"}, {"test::fail", "out"}};
  plan.chains = {instructions};
  return spec;
}

NodePtr add(int32_t a, int32_t b, int32_t out) { return kernel_call(kAdd, {a, b, kOne, out, out}); }
NodePtr full(int32_t sizes, int32_t number, int32_t out) { return kernel_call(kFull, {sizes, number, out, out}); }
NodePtr view_of(int32_t in, int32_t sizes, int32_t out) { return kernel_call(kView, {in, sizes, out}); }

// Sets new inputs, whose memory does not exist after the run, and executes.
Error run(Fixture& fixture, Floats x = {1, 2}) {
  OwnTensor<float> a({2}, std::move(x)), b({2}, {10, 20});
  const EValue inputs[] = {a.value(), b.value()};
  RL_TRY(fixture.method().set_inputs(inputs));
  return fixture.method().execute();
}

// Each of three runs of the program must give this output.
void expect_in_three_runs(const ProgramSpec& spec, const Floats& expected) {
  Fixture fixture(spec, environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(run(fixture), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), expected);
  }
}

TEST(Views, KeepTheMemoryOfABaseThatIsFreed) {
  ProgramSpec spec = program({unplanned({2}, kUnbounded), unplanned({2}, kUnbounded), unplanned({2}, kUnbounded)},
                             {full(kMany, 4, 9), view_of(9, kMany, 10), free_call(9), free_call(9), add(10, 10, 11),
                              free_call(10), view_of(11, kMany, 10)});
  spec.plans[0].outputs = {10};
  expect_in_three_runs(spec, Floats(kElements, 4));
}

TEST(Views, KeepTheMemoryOfABaseThatGrows) {
  ProgramSpec spec =
      program({unplanned({2}, kUnbounded), unplanned({2}, kUnbounded), unplanned({2}, kUnbounded)},
              {full(kTwo, 4, 9), view_of(9, kTwo, 10), full(kMany, 3, 9), free_call(9), add(10, 10, 11)});
  spec.plans[0].outputs = {11};
  Fixture fixture(spec, environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(run(fixture), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(fixture.method().get_output(0)).size(), 2u);  // the base may have changed them
  }
}

TEST(Views, AreEmptyIfAJumpSkipsTheirCall) {
  for (const bool is_called : {false, true}) {
    ProgramSpec spec =
        program({unplanned({2}, kUnbounded), unplanned({2}, kUnbounded), unplanned({2}, kUnbounded)},
                {full(kMany, 4, 9), jump_false(12, 3), view_of(9, kMany, 10), free_call(9), add(10, 10, 11)});
    spec.plans[0].values.push_back(value(is_called));  // 12
    spec.plans[0].outputs = {11};
    expect_in_three_runs(spec, is_called ? Floats(kElements, 4) : Floats());
  }
}

// A tensor without bounds that has the last 8 bytes of the planned memory.
TensorSpec unbounded_at_end() {
  TensorSpec tensor = planned({2}, 56);
  tensor.dynamism = kUnbounded;
  return tensor;
}

TEST(Views, WithoutBoundsAreReadFromTheirOwnMemoryInTheNextRun) {
  ProgramSpec spec = program({unbounded_at_end(), unplanned({2}, kUnbounded), unplanned({2}, kUnbounded)},
                             {add(9, 9, 11), full(kMany, 4, 10), view_of(10, kMany, 9)});
  spec.plans[0].outputs = {11};
  spec.plans[0].memories = {0, 64};
  Fixture fixture(spec, environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (const size_t size : {2, 0, 0}) {
    ASSERT_EQ(run(fixture), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), Floats(size));
  }
}

TEST(Views, WithoutBoundsAreWrittenWithinTheirOwnMemoryInTheNextRun) {
  ProgramSpec spec = program({unbounded_at_end(), unplanned({2}, kUnbounded)},
                             {full(kMany, 4, 10), jump_false(11, 3), view_of(10, kMany, 9), full(kMany, 4, 9)});
  spec.plans[0].values.push_back(value(true));  // 11
  spec.plans[0].inputs = {11};
  spec.plans[0].memories = {0, 64};
  Fixture fixture(spec, environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (const bool is_viewed : {true, false, true}) {
    ASSERT_EQ(fixture.method().set_input(0, EValue(is_viewed)), Error::Ok) << last_error_message();
    EXPECT_EQ(fixture.method().execute(), is_viewed ? Error::Ok : Error::InvalidArgument) << last_error_message();
  }
}

TEST(Views, WithoutMemoryOfTheirOwnAreEmptyInTheNextRun) {
  // The second run reads the view before its call.
  ProgramSpec spec = program({unplanned({2}, kUnbounded), unplanned({2}, kUnbounded), unplanned({2}, kUnbounded)},
                             {add(10, 10, 11), full(kMany, 4, 9), view_of(9, kMany, 10)});
  spec.plans[0].outputs = {11};
  expect_in_three_runs(spec, Floats());
}

TEST(Views, CannotBeInputs) {
  Fixture fixture(program({}, {view_of(kOut, kTwo, kX)}), environment());
  EXPECT_EQ(fixture.error, Error::InvalidProgram);
  EXPECT_NE(fixture.message.find("instruction 0 of chain 0: the view is value 0, which is an input"), std::string::npos)
      << fixture.message;
}

TEST(Views, ChangeTheirOwnTensorAfterAMove) {
  // The move makes value 9 the first input. The view of the second input must not change the first one: set_inputs()
  // would copy elements into memory of the last run.
  ProgramSpec spec =
      program({planned({2}, 48)}, {add(kX, kX, kOut), move_call(kX, 9), view_of(1, kTwo, 9), add(9, kOut, kOut)});
  spec.plans[0].values[1] = value(unplanned({2}));
  spec.plans[0].memories = {0, 64};
  expect_in_three_runs(spec, Floats{12, 24});
}

TEST(Views, ThatWereMovedHaveNoMemoryInTheNextRun) {
  // Value 9 is used before the move, and value 10 is a view without planned memory.
  ProgramSpec spec =
      program({planned({2}, 48), unplanned({2})}, {add(9, kX, kOut), view_of(kX, kTwo, 10), move_call(10, 9)});
  spec.plans[0].memories = {0, 64};
  expect_in_three_runs(spec, Floats{1, 2});
}

TEST(Views, BeginAgainAfterAFailedStep) {
  ProgramSpec spec = program({unplanned({2})}, {view_of(kX, kTwo, 9), kernel_call(kFail, {9, kOut, kOut})});
  spec.plans[0].chains.push_back({add(9, 9, kOut)});
  Fixture fixture(spec, environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  EXPECT_EQ(run(fixture), Error::InvalidArgument);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(fixture.method().step(), Error::Ok);
    EXPECT_EQ(fixture.method().step(), Error::InvalidArgument);
    EXPECT_EQ(fixture.method().failure().instruction, 1);
  }
}

TEST(Views, AreNoAttributesWithoutMemory) {
  TensorSpec named = unplanned({2});
  named.name = "cache";
  Fixture fixture(program({named}, {view_of(kX, kTwo, 9)}), environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  EXPECT_EQ(fixture.method().get_attribute("cache").error(), Error::InvalidState);
  EXPECT_MESSAGE("'cache' of method 'forward' has no memory");
  ASSERT_EQ(run(fixture), Error::Ok);
  EXPECT_TRUE(fixture.method().get_attribute("cache").ok());
}

TEST(Moves, OfSmallerTensorsDoNotChangeWhatResetStateWrites) {
  // Value 9 has 48 bytes. The move makes it value 10, the last 8 bytes of the planned memory.
  ProgramSpec spec = program({planned({12}, 48), planned({2}, 120)},
                             {add(9, 9, 9), add(kX, kX, 10), move_call(10, 9), add(kX, kX, kOut)});
  spec.plans[0].memories = {0, 128};
  Fixture fixture(spec, environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(run(fixture), Error::Ok) << last_error_message();
    ASSERT_EQ(fixture.method().reset_state(), Error::Ok) << last_error_message();
  }
}

TEST(Constants, AreNoResultsOfDelegates) {
  TensorSpec constant = unplanned({2});
  constant.data = 1;
  // A constant, a view of it, and a value that a move makes the constant.
  const std::vector<std::vector<NodePtr>> chains = {
      {delegate_call(0, {kX, 9})},
      {view_of(9, kTwo, 10), delegate_call(0, {kX, 10})},
      {move_call(9, 10), delegate_call(0, {kX, 10})},
      {view_of(9, kTwo, 10), move_call(10, 11), delegate_call(0, {kX, 11})},
  };
  for (const auto& instructions : chains) {
    ProgramSpec spec = program({constant, planned({2}, 48), planned({2}, 56)}, instructions);
    spec.plans[0].memories = {0, 64};
    spec.plans[0].delegates = {{"Ones", 1, 1, {}}};
    spec.constants = {0, {0, 16}};
    spec.segments = {{0, 24}, {0, 4}};
    spec.segment_data = std::vector<uint8_t>(24);
    Fixture fixture(spec, environment());
    ASSERT_TRUE(fixture.ok()) << fixture.message;
    const std::vector<uint8_t> before = fixture.bytes;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(run(fixture), Error::InvalidArgument);
      EXPECT_MESSAGE("a result has no memory of its own: it is a constant, or a tensor whose memory is not set");
    }
    EXPECT_EQ(fixture.bytes, before);
  }
}

TEST(Constants, AreResultsOfDelegatesAgainAfterAnotherView) {
  // Value 10 views a constant in one run, and its own memory in the next one.
  TensorSpec constant = unplanned({2});
  constant.data = 1;
  ProgramSpec spec =
      program({constant, planned({2}, 48)}, {jump_false(11, 2), view_of(9, kTwo, 10), delegate_call(0, {kX, 10})});
  spec.plans[0].values.push_back(value(true));  // 11
  spec.plans[0].inputs = {0, 11};
  spec.plans[0].outputs = {10};
  spec.plans[0].memories = {0, 64};
  spec.plans[0].delegates = {{"Ones", 1, 1, {}}};
  spec.constants = {0, {0, 16}};
  spec.segments = {{0, 24}, {0, 4}};
  spec.segment_data = std::vector<uint8_t>(24);
  Fixture fixture(spec, environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (const bool is_viewed : {true, false, true}) {
    OwnTensor<float> x({2}, {1, 2});
    const EValue inputs[] = {x.value(), EValue(is_viewed)};
    ASSERT_EQ(fixture.method().set_inputs(inputs), Error::Ok) << last_error_message();
    EXPECT_EQ(fixture.method().execute(), is_viewed ? Error::InvalidArgument : Error::Ok) << last_error_message();
  }
}

}  // namespace
}  // namespace rushlight::testing
