#include <string>

#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

using Floats = std::vector<float>;

// Multiplies its input by the first byte of its payload.
class ScaleBackend final : public BackendInterface {
 public:
  struct Handle {
    float factor;
  };

  bool is_available() const override { return available; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               Span<const CompileSpec> specs) override {
    method = std::string(context.method_name);
    for (const CompileSpec& spec : specs) {
      seen += std::string(spec.key) + "=" +
              std::string(reinterpret_cast<const char*>(spec.value.data()), spec.value.size());
    }
    for (const BackendOption& option : context.options) seen += ";" + std::string(option.key);
    RL_REQUIRE(processed->size() > 0, DelegateInvalidCompatibility, "the payload is empty");
    auto* handle = context.allocator->allocate_array<Handle>(1);
    handle->factor = static_cast<const uint8_t*>(processed->data())[0];
    auto named = context.named_data->data("bias");
    if (named.ok()) seen += "+" + std::to_string(named->size());
    processed->Free();
    ++alive;
    return static_cast<DelegateHandle*>(handle);
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue* const> arguments) override {
    RL_REQUIRE(context.event.instruction >= 0, Internal, "no event");
    if (refuse) {
      kept = name_of_failed;
      context.failed = {number_of_failed, kept};
      return fail(Error::DelegateInvalidHandle, "out of order");
    }
    const Tensor in = arguments[0]->to_tensor(), out = arguments[1]->to_tensor();
    for (int64_t i = 0; i < in.numel(); ++i) {
      out.mutable_data_ptr<float>()[i] = in.const_data_ptr<float>()[i] * static_cast<Handle*>(handle)->factor;
    }
    return Error::Ok;
  }

  void destroy(DelegateHandle*) override { --alive; }

  bool available = true;
  bool refuse = false;
  int64_t number_of_failed = -1;
  std::string name_of_failed, kept;
  int alive = 0;
  std::string method;
  std::string seen;
};

ProgramSpec scale_program() {
  ProgramSpec spec = add_program();
  PlanSpec& plan = spec.plans[0];
  plan.inputs = {0};
  plan.delegates = {{"Scale", 1, 0, {{"mode", "fast"}}}, {"Scale", 0, 0, {}}};
  plan.chains = {{delegate_call(0, {0, 1}), delegate_call(1, {1, 2})}};
  spec.segments = {{0, 4}};
  spec.segment_data = {3, 0, 0, 0};
  spec.inline_delegate_data = {{2}};
  spec.named_data = {{"bias", 0}};
  return spec;
}

class Delegates : public ::testing::Test {
 protected:
  Environment environment() {
    row_[0] = {"Scale", &backend_};
    Environment environment = test_environment();
    environment.backends = row_;
    return environment;
  }
  ScaleBackend backend_;
  Backend row_[1];
};

TEST_F(Delegates, Run) {
  const BackendOption option[] = {{"verbose", EValue(true)}};
  const BackendOptions options[] = {{"Other", {}}, {"Scale", option}};
  Environment with_options = environment();
  with_options.backend_options = options;
  {
    Fixture fixture(scale_program(), with_options);
    ASSERT_TRUE(fixture.ok()) << fixture.message;
    EXPECT_EQ(backend_.alive, 2);
    EXPECT_EQ(backend_.method, "forward");
    EXPECT_EQ(backend_.seen, "mode=fast;verbose+4;verbose+4");
    OwnTensor<float> x({2}, {1, 2});
    ASSERT_EQ(fixture.method().set_input(0, x.value()), Error::Ok);
    ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), (Floats{6, 12}));
  }
  EXPECT_EQ(backend_.alive, 0);
}

TEST_F(Delegates, ThatFailAreNamed) {
  Fixture fixture(scale_program(), environment());
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  backend_.refuse = true;
  EXPECT_EQ(fixture.method().execute(), Error::DelegateInvalidHandle);
  EXPECT_STREQ(last_error_message(), "method 'forward', instruction 0 of chain 0 (Scale): out of order");
  EXPECT_EQ(fixture.method().failure().chain, 0);
  EXPECT_EQ(fixture.method().failure().instruction, 0);
  EXPECT_EQ(fixture.method().failure().delegate_operator.number, -1);

  backend_.number_of_failed = 7;
  EXPECT_EQ(fixture.method().execute(), Error::DelegateInvalidHandle);
  EXPECT_STREQ(last_error_message(), "method 'forward', instruction 0 of chain 0 (Scale operator 7): out of order");
  EXPECT_EQ(fixture.method().failure().delegate_operator.number, 7);

  backend_.number_of_failed = -1;
  backend_.name_of_failed = "conv";
  EXPECT_EQ(fixture.method().execute(), Error::DelegateInvalidHandle);
  backend_.kept = "gone";  // the method has its own copy
  EXPECT_STREQ(last_error_message(),
               "method 'forward', instruction 0 of chain 0 (Scale operator 'conv'): out of order");
  EXPECT_EQ(fixture.method().failure().delegate_operator.name, "conv");

  backend_.refuse = false;
  OwnTensor<float> x({2}, {1, 2});
  ASSERT_EQ(fixture.method().set_input(0, x.value()), Error::Ok);
  EXPECT_EQ(fixture.method().execute(), Error::Ok);
  EXPECT_EQ(fixture.method().failure().chain, -1);
}

TEST_F(Delegates, ThatCannotBeInitialisedFailTheLoad) {
  ProgramSpec spec = scale_program();
  spec.inline_delegate_data = {{}};
  Fixture fixture(spec, environment());
  EXPECT_EQ(fixture.error, Error::DelegateInvalidCompatibility);
  EXPECT_EQ(fixture.message, "delegate 1 (Scale) of method 'forward' cannot be initialized: the payload is empty");
  EXPECT_EQ(backend_.alive, 0) << "the first one was destroyed";
}

TEST_F(Delegates, MustBeAvailable) {
  backend_.available = false;
  Fixture fixture(scale_program(), environment());
  EXPECT_EQ(fixture.error, Error::NotFound);
}

}  // namespace
}  // namespace rushlight::testing
