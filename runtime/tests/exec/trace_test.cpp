#include <map>
#include <string>
#include <vector>

#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

class Recorder final : public EventTracer {
 public:
  void create_event_block(std::string_view name) override {
    log += "[" + std::string(name) + "]";
    last_ = 0;
  }
  EventTracerEntry start_profiling(const EventId& id, std::string_view name) override {
    log += "<" + std::string(name) + "@" + std::to_string(id.instruction);
    return {id, name, 0, ++last_};
  }
  void end_profiling(const EventTracerEntry& entry, Span<const uint8_t>) override {
    log += ">" + std::to_string(entry.token);
  }
  void log_profiling_delegate(const EventId&, std::string_view, uint64_t, uint64_t, Span<const uint8_t>) override {}
  AllocatorId track_allocator(std::string_view name) override {
    allocators.emplace_back(name);
    return static_cast<AllocatorId>(allocators.size());
  }
  void track_allocation(AllocatorId allocator, size_t size) override { allocated[allocators[allocator - 1]] += size; }
  void log_evalue(const EventId& id, std::string_view, const EValue& value, LoggedEValueType type) override {
    log += (type == LoggedEValueType::ProgramOutput ? "!" : "=") + std::string(to_string(value.tag)) + "@" +
           std::to_string(id.instruction);
  }

  std::string log;
  std::vector<std::string> allocators;
  std::map<std::string, size_t> allocated;

 private:
  uint64_t last_ = 0;
};

TEST(Trace, TellsEveryInstruction) {
  if (!kHasTracing) GTEST_SKIP() << "this build has no event tracing";
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
  EXPECT_EQ(recorder.log,
            "[Default]<forward@-1<forward@-1>2>1[Execute]<forward@-1<test::add.out@0>2<test::size@1>3<move@2>4>1");
  EXPECT_GT(recorder.allocated["method"], sizeof(EValue));
  EXPECT_EQ(recorder.allocated["planned memory 1"], 48u);
  recorder.log.clear();
  recorder.set_event_tracer_debug_level(EventTracerDebugLogLevel::IntermediateOutputs);
  ASSERT_EQ(fixture.method().execute(), Error::Ok);
  EXPECT_EQ(recorder.log,
            "[Execute]<forward@-1<test::add.out@0>2=Tensor@0<test::size@1>3=Int@1<move@2>4=Tensor@2>1!Tensor@-1");
}

TEST(Trace, TellsOutputsAlone) {
  if (!kHasTracing) GTEST_SKIP() << "this build has no event tracing";
  Recorder recorder;
  recorder.set_event_tracer_debug_level(EventTracerDebugLogLevel::ProgramOutputs);
  Environment environment = test_environment();
  environment.tracer = &recorder;
  Fixture fixture(add_program(), environment);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  recorder.log.clear();
  ASSERT_EQ(fixture.method().execute(), Error::Ok);
  EXPECT_EQ(recorder.log, "[Execute]<forward@-1<test::add.out@0>2>1!Tensor@-1");
}

TEST(Trace, NeedsABuildWithTracing) {
  Recorder recorder;
  Environment environment = test_environment();
  environment.tracer = &recorder;
  const Fixture traced(add_program(), environment);
  EXPECT_EQ(traced.ok(), kHasTracing);
  environment.tracer = nullptr;
  const Fixture plain(add_program(), environment);
  EXPECT_TRUE(plain.ok()) << plain.message;
  EXPECT_EQ(recorder.log.empty(), !kHasTracing);
}

}  // namespace
}  // namespace rushlight::testing
