#include "rushlight/trace/etdump.h"

#include <cstring>
#include <string>
#include <vector>

#include "core/flatbuffer.h"
#include "tests/support/loaded.h"
#include "trace/etdump_generated.h"

namespace rushlight::testing {
namespace {

using schema::etdump::ValueType;

// The dump of a tracer as a verified copy.
struct Dump {
  explicit Dump(ETDumpGen& tracer) {
    const Span<const uint8_t> data = tracer.get_etdump_data();
    EXPECT_GE(data.size(), 12u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data.data()) % 8, 0u);
    // The verifier does not accept the size prefix. The rest of the dump must stay aligned, so the first 8 bytes become
    // a root offset and a file identifier, and the old ones become a gap.
    bytes.assign(data.begin(), data.end());
    EXPECT_EQ(flatbuffer::load<uint32_t>(bytes.data()), bytes.size() - 4);
    EXPECT_EQ(std::memcmp(bytes.data() + 8, "ED00", 4), 0);
    const uint32_t root_at = 4 + flatbuffer::load<uint32_t>(bytes.data() + 4);
    std::memcpy(bytes.data(), &root_at, 4);
    std::memcpy(bytes.data() + 4, "ED00", 4);
    flatbuffer::Malformed why;
    is_valid = flatbuffer::verify(schema::etdump::kETDumpSchema, bytes.data(), bytes.size(), &why);
    EXPECT_TRUE(is_valid) << why.reason << " " << (why.table ? why.table : "") << "." << (why.field ? why.field : "");
    if (is_valid) root = flatbuffer::root<schema::etdump::ETDump>(bytes.data());
  }

  // Returns a text such as "Execute: Method::execute@-1".
  std::string text() const {
    std::string all;
    for (const auto run : root.run_data()) {
      all += std::string(run.name()) + ":";
      for (const auto event : run.events()) {
        if (const auto profile = event.profile_event()) {
          all += " " + std::string(profile.name()) + "@" + std::to_string(profile.instruction_id());
          EXPECT_GE(profile.end_time(), profile.start_time());
        } else if (const auto debug = event.debug_event()) {
          all += " =" + std::to_string(static_cast<int>(debug.debug_entry().val()));
        } else {
          const auto allocation = event.allocation_event();
          EXPECT_TRUE(allocation);
          const uint32_t id = static_cast<uint32_t>(allocation.allocator_id());
          EXPECT_TRUE(id >= 1 && id <= run.allocators().size());
          all +=
              " " + std::string(run.allocators()[id - 1].name()) + "+" + std::to_string(allocation.allocation_size());
        }
      }
      all += "\n";
    }
    return all;
  }

  std::vector<uint8_t> bytes;
  bool is_valid = false;
  schema::etdump::ETDump root;
};

alignas(8) uint8_t memory[1 << 16];

EventId kernel(int32_t instruction) { return {EventKind::Kernel, 0, instruction}; }

TEST(ETDump, IsValidWithoutEvents) {
  ETDumpGen tracer(memory);
  const Dump dump(tracer);
  EXPECT_EQ(dump.text(), "");
  EXPECT_EQ(dump.root.version(), 0u);
}

TEST(ETDump, HasTheEventsOfLoadAndExecution) {
  if (!kHasTracing) GTEST_SKIP() << "this build has no event tracing";
  ETDumpGen tracer(memory);
  tracer.set_allocation_tracking(true);
  Environment environment = test_environment();
  environment.tracer = &tracer;
  ProgramSpec spec = add_program();
  spec.plans[0].chains[0].push_back(move_call(2, 1));
  Fixture fixture(spec, environment);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
  ASSERT_EQ(fixture.method().execute(), Error::Ok);
  const Dump dump(tracer);
  const std::string run = "Execute: native_call_add.out@0 MOVE_CALL@1 Method::execute@-1\n";
  const std::string text = dump.text();
  const size_t first = text.find('\n') + 1;
  EXPECT_EQ(text.substr(0, 29), "Default: planned memory 1+48 ");
  EXPECT_NE(text.find(" method+"), std::string::npos);
  EXPECT_NE(text.find(" Method::init@-1 Program::load_method@-1\n"), std::string::npos) << text;
  EXPECT_EQ(text.substr(first), run + run);
  EXPECT_EQ(dump.root.program_fingerprint(), fixture.program->program().fingerprint());
  EXPECT_EQ(dump.root.dropped_events(), 0u);
  EXPECT_EQ(tracer.get_num_blocks(), 3u);
}

TEST(ETDump, RecordsOperatorsOfDelegatesByNumberAndByName) {
  ETDumpGen tracer(memory);
  EventId id{EventKind::DelegateOperator, 1, 4, 7};
  const uint8_t metadata[] = {1, 0, 255};
  tracer.end_profiling(tracer.start_profiling(id, "gemm"), metadata);
  id.delegate_debug_id = -1;
  id.delegate_debug_name = "conv_1";
  tracer.log_profiling_delegate(id, "", 5, 9);
  const Dump dump(tracer);
  ASSERT_EQ(dump.text(), "Default: gemm@4 @4\n");
  const auto events = dump.root.run_data()[0].events();
  const auto by_number = events[0].profile_event();
  EXPECT_EQ(by_number.chain_index(), 1);
  EXPECT_EQ(by_number.delegate_debug_id_int(), 7);
  EXPECT_EQ(by_number.delegate_debug_id_str(), "");
  ASSERT_EQ(by_number.delegate_debug_metadata().size(), 3u);
  EXPECT_EQ(by_number.delegate_debug_metadata()[2], 255);
  const auto by_name = events[1].profile_event();
  EXPECT_EQ(by_name.delegate_debug_id_int(), -1);
  EXPECT_EQ(by_name.delegate_debug_id_str(), "conv_1");
  EXPECT_EQ(by_name.delegate_debug_metadata().size(), 0u);
  EXPECT_EQ(by_name.start_time(), 5u);
  EXPECT_EQ(by_name.end_time(), 9u);
}

TEST(ETDump, RecordsValues) {
  ETDumpGen tracer(memory);
  uint8_t elements[256];
  tracer.set_debug_buffer(elements);
  // Dimensions 0 and 1 are exchanged in memory. The dump has row-major elements.
  OwnTensor<float> columns({2, 3}, {1, 4, 2, 5, 3, 6});
  columns.strides = {1, 2};
  OwnTensor<int32_t> scalar({}, {7});
  const auto log = [&](const EValue& value, LoggedEValueType type = LoggedEValueType::IntermediateOutput) {
    tracer.log_evalue(kernel(2), "aten::add.out", value, type);
  };
  log(columns.value());
  log(scalar.value(), LoggedEValueType::ProgramOutput);
  log(EValue(int64_t{-3}));
  log(EValue(1.5));
  log(EValue(true));
  log(EValue());
  const Dump dump(tracer);
  ASSERT_EQ(dump.text(), "Default: =5 =5 =1 =4 =2\n");
  const auto events = dump.root.run_data()[0].events();
  const auto first = events[0].debug_event();
  EXPECT_EQ(first.name(), "native_call_add.out");
  EXPECT_EQ(first.instruction_id(), 2);
  EXPECT_FALSE(first.debug_entry().output());
  const auto tensor = first.debug_entry().tensor();
  EXPECT_EQ(static_cast<int>(tensor.scalar_type()), static_cast<int>(ScalarType::Float));
  ASSERT_EQ(tensor.sizes().size(), 2u);
  EXPECT_EQ(tensor.sizes()[1], 3);
  EXPECT_EQ(tensor.strides()[0], 3);
  float copied[6];
  std::memcpy(copied, tracer.get_debug_data().data() + tensor.offset(), sizeof(copied));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(copied[i], static_cast<float>(i + 1));
  const auto second = events[1].debug_event().debug_entry();
  EXPECT_TRUE(second.output().bool_val());
  EXPECT_EQ(second.tensor().offset(), 64);
  EXPECT_EQ(second.tensor().sizes().size(), 0u);
  EXPECT_EQ(events[2].debug_event().debug_entry().int_value().int_val(), -3);
  EXPECT_EQ(events[3].debug_event().debug_entry().double_value().double_val(), 1.5);
  EXPECT_TRUE(events[4].debug_event().debug_entry().bool_value().bool_val());
}

TEST(ETDump, RecordsListsOfTensors) {
  ETDumpGen tracer(memory);
  uint8_t elements[256];
  tracer.set_debug_buffer(elements);
  OwnTensor<float> a({1}, {1}), b({2}, {2, 3});
  EValue values[] = {a.value(), b.value()};
  EValue* const pointers[] = {&values[0], &values[1]};
  Tensor unboxed[] = {a.value().to_tensor(), b.value().to_tensor()};
  const BoxedList<Tensor> list{pointers, unboxed, 2};
  tracer.log_evalue(kernel(0), "aten::split.out", EValue(&list), LoggedEValueType::IntermediateOutput);
  const Dump dump(tracer);
  ASSERT_EQ(dump.text(), "Default: =6\n");
  const auto tensors = dump.root.run_data()[0].events()[0].debug_event().debug_entry().tensor_list().tensors();
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[1].sizes()[0], 2);
  EXPECT_EQ(tensors[1].offset(), 64);
}

TEST(ETDump, DropsTensorsThatDoNotFitTheDebugBuffer) {
  ETDumpGen tracer(memory);
  uint8_t elements[80];
  tracer.set_debug_buffer(elements);
  OwnTensor<float> four({4}, {1, 2, 3, 4}), five({5}, {1, 2, 3, 4, 5});
  tracer.log_evalue(kernel(0), "a", four.value(), LoggedEValueType::IntermediateOutput);
  tracer.log_evalue(kernel(1), "a", five.value(), LoggedEValueType::IntermediateOutput);
  tracer.log_evalue(kernel(2), "a", four.value(), LoggedEValueType::IntermediateOutput);
  EXPECT_EQ(Dump(tracer).text(), "Default: =5 =5\n");
  EXPECT_EQ(tracer.dropped_events(), 1u);
  EXPECT_EQ(tracer.get_debug_data().size(), 80u);
}

// Returns the number of elements as the offset. Takes at most two elements.
class CountingSink final : public TensorSink {
 public:
  Result<size_t> write(const Tensor& tensor) override {
    if (tensor.numel() > 2) return Error::OutOfResources;
    copy_row_major(tensor, elements);
    return static_cast<size_t>(1000 + tensor.numel());
  }
  uint8_t elements[8] = {};
};

TEST(ETDump, PassesTensorsToASink) {
  ETDumpGen tracer(memory);
  CountingSink sink;
  tracer.set_tensor_sink(&sink);
  OwnTensor<float> two({2}, {1, 2}), three({3}, {1, 2, 3});
  tracer.log_evalue(kernel(0), "a", three.value(), LoggedEValueType::IntermediateOutput);
  tracer.log_evalue(kernel(1), "a", two.value(), LoggedEValueType::IntermediateOutput);
  const Dump dump(tracer);
  EXPECT_EQ(dump.text(), "Default: =5\n");
  EXPECT_EQ(tracer.dropped_events(), 1u);
  EXPECT_EQ(dump.root.run_data()[0].events()[0].debug_event().debug_entry().tensor().offset(), 1002);
  const float expected[] = {1, 2};
  EXPECT_EQ(std::memcmp(sink.elements, expected, sizeof(expected)), 0);
  EXPECT_TRUE(tracer.get_debug_data().empty());
  tracer.set_tensor_sink(nullptr);
  tracer.log_evalue(kernel(2), "a", two.value(), LoggedEValueType::IntermediateOutput);
  EXPECT_EQ(tracer.dropped_events(), 2u) << "there is no debug buffer";
}

TEST(ETDump, GoesOnAfterADumpWasTaken) {
  ETDumpGen tracer(memory);
  tracer.create_event_block("Execute");
  tracer.end_profiling(tracer.start_profiling(kernel(0), "aten::a.out"));
  EXPECT_EQ(Dump(tracer).text(), "Execute: native_call_a.out@0\n");
  tracer.end_profiling(tracer.start_profiling(kernel(1), "aten::b.out"));
  tracer.set_bundled_input_index(3);
  tracer.create_event_block("Execute");
  const Dump dump(tracer);
  EXPECT_EQ(dump.text(), "Execute: native_call_a.out@0 native_call_b.out@1\nExecute:\n");
  EXPECT_EQ(dump.root.run_data()[0].bundled_input_index(), -1);
  EXPECT_EQ(dump.root.run_data()[1].bundled_input_index(), 3);
  tracer.reset();
  EXPECT_EQ(Dump(tracer).text(), "");
}

TEST(ETDump, RecordsNoAllocationsUnlessAsked) {
  ETDumpGen tracer(memory);
  tracer.track_allocation(tracer.track_allocator("method"), 8);
  EXPECT_EQ(Dump(tracer).text(), "");
  EXPECT_EQ(tracer.dropped_events(), 0u);
}

TEST(ETDump, RecordsMethodsAloneOnRequest) {
  ETDumpGen tracer(memory);
  tracer.set_allocation_tracking(true);
  tracer.set_event_tracer_profiling_level(EventTracerProfilingLevel::ProfileMethodOnly);
  tracer.end_profiling(tracer.start_profiling(kernel(0), "aten::a.out"));
  tracer.track_allocation(tracer.track_allocator("method"), 8);
  tracer.end_profiling(tracer.start_profiling({EventKind::Method}, "forward"));
  EXPECT_EQ(Dump(tracer).text(), "Default: Method::execute@-1\n");
  EXPECT_EQ(tracer.dropped_events(), 0u);
}

// For every size of the buffer, at every alignment, the dump is complete or empty, and no byte outside is written.
TEST(ETDump, DropsAndCountsEventsThatDoNotFit) {
  OwnTensor<float> tensor({2}, {1, 2});
  uint8_t elements[64];
  size_t whole = 0;
  for (size_t size = 0; size < 5200; ++size) {
    std::vector<uint8_t> buffer(size + 24, 0xa5);
    ETDumpGen tracer({buffer.data() + 8 + size % 8, size});
    tracer.set_debug_buffer(elements);
    tracer.set_allocation_tracking(true);
    uint64_t logged = 0;
    for (int run = 0; run < 4; ++run) {
      tracer.create_event_block(run == 0 ? "Default" : "Execute");
      for (int i = 0; i < 3; ++i, logged += 4) {
        tracer.end_profiling(tracer.start_profiling(kernel(i), "aten::add.out"));
        EventId inside{EventKind::DelegateOperator, 0, i, -1, "step"};
        const uint8_t metadata[5] = {};
        tracer.log_profiling_delegate(inside, "", 1, 2, metadata);
        tracer.log_evalue(kernel(i), "aten::add.out", EValue(int64_t{1}), LoggedEValueType::IntermediateOutput);
        tracer.track_allocation(tracer.track_allocator("method"), 8);
      }
    }
    const Span<const uint8_t> data = tracer.get_etdump_data();
    if (!data.empty()) {
      const Dump dump(tracer);
      ASSERT_TRUE(dump.is_valid) << size;
      uint64_t kept = 0;
      for (const auto block : dump.root.run_data()) kept += block.events().size();
      EXPECT_EQ(kept + dump.root.dropped_events(), logged) << size;
      EXPECT_EQ(dump.root.dropped_events(), tracer.dropped_events());
      EXPECT_GE(data.data(), buffer.data() + 8 + size % 8);
      whole += dump.root.dropped_events() == 0;
    } else {
      EXPECT_EQ(tracer.dropped_events(), logged) << size;
    }
    for (size_t i = 0; i < 8 + size % 8; ++i) ASSERT_EQ(buffer[i], 0xa5) << size;
    for (size_t i = 8 + size % 8 + size; i < buffer.size(); ++i) ASSERT_EQ(buffer[i], 0xa5) << size;
  }
  EXPECT_GT(whole, 10u);
}

}  // namespace
}  // namespace rushlight::testing
