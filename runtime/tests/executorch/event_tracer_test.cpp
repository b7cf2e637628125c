#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "executorch/devtools/etdump/data_sinks/file_data_sink.h"
#include "executorch/devtools/etdump/etdump_flatcc.h"
#include "executorch/extension/module/module.h"
#include "executorch/extension/tensor/tensor.h"
#include "executorch/runtime/core/event_tracer_hooks_delegate.h"
#include "tests/executorch/programs.h"

namespace executorch {
namespace {

using aten::Tensor;
using extension::Module;
using runtime::Error;
using runtime::EValue;
using runtime::Result;

// Records the names of events.
class NamingTracer final : public runtime::EventTracer {
 public:
  std::vector<std::string> names;
  int open = 0;
  void create_event_block(const char* name) override { names.push_back(std::string("block ") + name); }
  runtime::EventTracerEntry start_profiling(const char* name, runtime::ChainID, runtime::DebugHandle) override {
    names.emplace_back(name);
    ++open;
    return {};
  }
  void end_profiling(runtime::EventTracerEntry) override { --open; }
  runtime::EventTracerEntry start_profiling_delegate(const char*, runtime::DelegateDebugIntId) override { return {}; }
  void end_profiling_delegate(runtime::EventTracerEntry, const void*, size_t) override {}
  void log_profiling_delegate(const char*, runtime::DelegateDebugIntId, et_timestamp_t, et_timestamp_t, const void*,
                              size_t) override {}
  void track_allocation(runtime::AllocatorID, size_t) override {}
  runtime::AllocatorID track_allocator(const char*) override { return 1; }
  Result<bool> log_evalue(const EValue& value, runtime::LoggedEValueType) override {
    names.push_back(std::string("value ") + runtime::tag_to_string(value.tag));
    return true;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const Tensor&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId,
                                                const runtime::ArrayRef<Tensor>) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const int&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const bool&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const double&) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(runtime::EventTracerFilterBase*) override {}
};

TEST(ExecuTorchTracer, ReceivesEvents) {
  if (!::rushlight::kHasTracing) GTEST_SKIP() << "a build without event tracing";
  int loads = 0;
  auto tracer = std::make_unique<NamingTracer>();
  NamingTracer* events = tracer.get();
  events->set_event_tracer_debug_level(runtime::EventTracerDebugLogLevel::kProgramOutputs);
  Module module(loader_of(adding("aten::add", "out"), &loads), nullptr, nullptr, std::move(tracer));
  const auto x = extension::make_tensor_ptr({3.0f, 4.0f});
  ASSERT_TRUE(module.forward({x, x}).ok());
  const std::set<std::string> names(events->names.begin(), events->names.end());
  EXPECT_EQ(names.count("value Tensor"), 1u);
  EXPECT_TRUE(names.count("block Execute") == 1 || names.size() > 3) << names.size();
  EXPECT_EQ(events->open, 0);
}

// Stores the bytes of each tensor, and counts them.
class CountingSink final : public etdump::DataSinkBase {
 public:
  std::vector<std::vector<uint8_t>> written;
  Result<size_t> write(const void* data, size_t size) override {
    if (size > 8) return Error::OutOfResources;
    const auto* first = static_cast<const uint8_t*>(data);
    written.emplace_back(first, first + size);
    return size_t{1000} * written.size();
  }
  size_t get_used_bytes() const override { return written.size(); }
};

TEST(ExecuTorchTracer, StoresTensorsInADataSink) {
  if (!::rushlight::kHasTracing) GTEST_SKIP() << "a build without event tracing";
  etdump::ETDumpGen tracer;
  EXPECT_EQ(tracer.get_data_sink(), nullptr);
  tracer.set_event_tracer_debug_level(runtime::EventTracerDebugLogLevel::kIntermediateOutputs);
  CountingSink sink;
  tracer.set_data_sink(&sink);
  EXPECT_EQ(tracer.get_data_sink(), &sink);
  int loads = 0;
  Module module(loader_of(adding("aten::add", "out"), &loads));
  ASSERT_EQ(module.load_method("forward", nullptr, &tracer), Error::Ok);
  const auto x = extension::make_tensor_ptr({3.0f, 4.0f});
  ASSERT_TRUE(module.forward({x, x}).ok());
  ASSERT_EQ(sink.written.size(), 2u) << "the result of the operator and the output of the method";
  float sums[2];
  std::memcpy(sums, sink.written[0].data(), sizeof(sums));
  EXPECT_EQ(sums[1], 8.0f);
  const auto matrix = extension::make_tensor_ptr({2, 3}, std::vector<float>(6));
  EXPECT_TRUE(tracer.log_evalue(EValue(matrix), runtime::LoggedEValueType::kIntermediateOutput).ok());
  const etdump::ETDumpResult dump = tracer.get_etdump_data();
  ASSERT_NE(dump.buf, nullptr);
  const std::string_view bytes(static_cast<const char*>(dump.buf), dump.size);
  const int64_t offset = 1000;
  EXPECT_NE(bytes.find(std::string_view(reinterpret_cast<const char*>(&offset), sizeof(offset))), bytes.npos);
  std::free(dump.buf);
  alignas(64) uint8_t buffer[64];
  ASSERT_TRUE(tracer.set_debug_buffer({buffer, sizeof(buffer)}).ok());
  const std::vector<uint8_t> order = {1, 0};
  const auto columns = extension::make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}, order);
  EXPECT_TRUE(tracer.log_evalue(EValue(columns), runtime::LoggedEValueType::kIntermediateOutput).ok());
  EXPECT_EQ(tracer.get_data_sink()->get_used_bytes(), 16u);
  const float rows[] = {1, 3, 2, 4};
  EXPECT_EQ(std::memcmp(buffer, rows, sizeof(rows)), 0) << "the elements are in row-major order";
  tracer.reset();
  EXPECT_EQ(tracer.get_data_sink(), nullptr);
  EXPECT_TRUE(tracer.log_evalue(EValue(columns), runtime::LoggedEValueType::kIntermediateOutput).ok());
}

TEST(ExecuTorchTracer, HasDataSinksOfBuffersAndFiles) {
  alignas(64) uint8_t pool[204];
  std::memset(pool, 0xee, sizeof(pool));
  auto buffer = etdump::BufferDataSink::create(pool + 4, 200, 16);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(*buffer->get_storage_size(), 200u);
  uint8_t data[200] = {7, 7};
  EXPECT_EQ(*buffer->write(data, 10), 12u);
  EXPECT_EQ(buffer->get_used_bytes(), 22u);
  EXPECT_EQ(*buffer->write(data, 0), 22u);
  EXPECT_EQ(*buffer->write(data, 10), 28u);
  EXPECT_EQ(buffer->write(data, 190).error(), Error::OutOfResources);
  EXPECT_EQ(*buffer->write(data, 156), 44u) << "the rest";
  EXPECT_EQ(buffer->write(data, 1).error(), Error::OutOfResources);
  EXPECT_EQ(pool[4], 0) << "padding";
  EXPECT_EQ(pool[16], 7);
  EXPECT_EQ(etdump::BufferDataSink::create({pool, size_t{8}}, 24).error(), Error::InvalidArgument);
  const std::string path = ::testing::TempDir() + "executorch_sink.bin";
  EXPECT_EQ(etdump::FileDataSink::create((path + "/absent").c_str()).error(), Error::AccessFailed);
  auto file = etdump::FileDataSink::create(path.c_str());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file->write("hello", 5), 0u);
  etdump::FileDataSink moved = std::move(*file);
  EXPECT_EQ(*moved.write("abc", 3), 5u);
  EXPECT_EQ(moved.get_used_bytes(), 8u);
  EXPECT_EQ(file->write("x", 1).error(), Error::AccessFailed) << "the file was moved";
  moved.close();
  EXPECT_EQ(moved.write("x", 1).error(), Error::AccessFailed);
  std::ifstream read(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(read), {}), "helloabc");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace executorch
