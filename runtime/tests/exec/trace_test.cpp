#include <string>

#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

class Recorder final : public EventTracer {
 public:
  uint64_t begin_event(const EventId& id, std::string_view name) override {
    log += "<" + std::string(name) + "@" + std::to_string(id.instruction);
    return ++last_;
  }
  void end_event(uint64_t token, const EventId&) override { log += ">" + std::to_string(token); }
  void log_delegate_event(const EventId&, std::string_view, uint64_t, uint64_t) override {}
  bool wants_values() const override { return values; }
  void log_value(const EventId& id, const EValue& value) override {
    log += std::string("=") + to_string(value.tag()) + "@" + std::to_string(id.instruction);
  }

  std::string log;
  bool values = false;

 private:
  uint64_t last_ = 0;
};

TEST(Trace, TellsEveryInstruction) {
  Recorder recorder;
  Environment environment = test_environment();
  environment.tracer = &recorder;
  ProgramSpec spec = add_program();
  spec.plans[0].values.push_back(value(int64_t{0}));
  spec.plans[0].operators.push_back({"test::size", ""});
  spec.plans[0].chains[0].push_back(kernel_call(1, {0, 4, 4}));
  spec.plans[0].chains[0].push_back(move_call(2, 1));
  Fixture fixture(spec, environment);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
  EXPECT_EQ(recorder.log, "<forward@-1<test::add.out@0>2<test::size@1>3<move@2>4>1");
  recorder.log.clear();
  recorder.values = true;
  ASSERT_EQ(fixture.method().execute(), Error::Ok);
  EXPECT_EQ(recorder.log, "<forward@-1<test::add.out@0>6=Tensor@0<test::size@1>7=Int@1<move@2>8=Tensor@2>5");
}

}  // namespace
}  // namespace rushlight::testing
