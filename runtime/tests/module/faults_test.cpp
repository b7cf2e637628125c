// Each allocation fails once, and files change or cannot be written. The result must be an error without a leak, and
// the next call must work.
#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "rushlight/module/defaults.h"
#include "rushlight/module/module.h"
#include "rushlight/module/tensor_ptr.h"
#include "rushlight/platform/platform.h"
#include "tests/support/failing_memory.h"

namespace {
std::atomic<long> news{0};  // calls of operator new, also from threads of other tests
}  // namespace

void* operator new(size_t size) {
  ++news;
  void* const memory = std::malloc(std::max<size_t>(size, 1));
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++news;
  return std::malloc(std::max<size_t>(size, 1));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace rushlight {
namespace {

using testing::fail_memory_of_platform;
using testing::FailingAllocator;
using testing::is_error_of_memory;

testing::FailingMemory& memory = testing::failing_memory;

class Faults : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    fail_memory_of_platform();
    memory.failing_call = -1;
  }
  void TearDown() override {
    memory.failing_call = -1;
    platform::set_hooks({});
  }
};

using Bytes = std::vector<std::vector<uint8_t>>;

std::vector<TensorPtr> inputs_of(const MethodMeta& meta) {
  std::vector<TensorPtr> inputs;
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto info = meta.input_tensor_meta(i);
    if (!info.ok()) continue;
    inputs.push_back(zeros({info->sizes.begin(), info->sizes.end()}, info->dtype));
  }
  return inputs;
}

Error run(Module& module, const std::vector<TensorPtr>& inputs, Bytes* outputs) {
  std::vector<EValue> values;
  for (const TensorPtr& input : inputs) values.push_back(EValue(*input));
  const auto results = module.execute("forward", Span<const EValue>(values.data(), values.size()));
  if (!results.ok()) return results.error();
  outputs->clear();
  for (const EValue& value : *results) {
    const Tensor tensor = value.to_tensor();
    const auto* data = static_cast<const uint8_t*>(tensor.const_data_ptr());
    outputs->emplace_back(data, data + tensor.nbytes());
  }
  return Error::Ok;
}

Module::Options options_of(const std::string& path) {
  Module::Options options;
  options.environment.kernels = default_kernels();
  options.environment.backends = default_backends();
  if (path.find("external-kernels") != std::string::npos) {
    options.data_paths.push_back(path.substr(0, path.size() - 3) + "ptd");
  }
  return options;
}

Error load_and_run(const std::string& path, const std::vector<TensorPtr>& inputs, Bytes* outputs) {
  auto module = Module::load(path.c_str(), options_of(path));
  return module.ok() ? run(**module, inputs, outputs) : module.error();
}

std::vector<TensorPtr> inputs_of(const std::string& path) {
  auto module = Module::load(path.c_str(), options_of(path));
  EXPECT_TRUE(module.ok()) << last_error_message();
  auto method = (*module)->method("forward");
  EXPECT_TRUE(method.ok()) << last_error_message();
  return inputs_of((*method)->method().meta());
}

void expect_of_memory(Error error) {
  if (error == Error::Ok) return;  // the memory was not necessary
  EXPECT_TRUE(is_error_of_memory(error)) << to_string(error) << ": " << last_error_message() << " at allocation "
                                         << memory.failing_call;
  EXPECT_STRNE(last_error_message(), "");
}

// Loading and running fail at each allocation in turn.
TEST_P(Faults, EachAllocationOfThePlatform) {
  const std::vector<TensorPtr> inputs = inputs_of(GetParam());
  Bytes wanted, given;
  ASSERT_EQ(load_and_run(GetParam(), inputs, &wanted), Error::Ok) << last_error_message();
  const long before = memory.live;
  memory.calls = 0;
  ASSERT_EQ(load_and_run(GetParam(), inputs, &wanted), Error::Ok);
  const long count = memory.calls;
  ASSERT_GT(count, 0);
  for (long n = 0; n < count; ++n) {
    memory.calls = 0;
    memory.failing_call = n;
    expect_of_memory(load_and_run(GetParam(), inputs, &given));
    memory.failing_call = -1;
    ASSERT_EQ(memory.live, before) << "a leak after allocation " << n;
  }
  ASSERT_EQ(load_and_run(GetParam(), inputs, &given), Error::Ok);
  EXPECT_EQ(given, wanted);
  RecordProperty("allocations", static_cast<int>(count));
}

// A method that failed because of missing memory runs again with the same results.
TEST_P(Faults, EachAllocationOfALaterRun) {
  const std::vector<TensorPtr> inputs = inputs_of(GetParam());
  Bytes wanted, given;
  ASSERT_EQ(load_and_run(GetParam(), inputs, &wanted), Error::Ok) << last_error_message();
  for (long n = 0;; ++n) {
    auto module = Module::load(GetParam().c_str(), options_of(GetParam()));
    ASSERT_TRUE(module.ok() && (*module)->method("forward").ok());
    memory.calls = 0;
    memory.failing_call = n;
    expect_of_memory(run(**module, inputs, &given));
    const bool was_last = memory.calls <= n;
    memory.failing_call = -1;
    ASSERT_EQ(run(**module, inputs, &given), Error::Ok) << last_error_message();
    EXPECT_EQ(given, wanted) << "after allocation " << n << " failed";
    if (was_last) break;
  }
}

// Each allocation of the core's allocators fails in turn. operator new is never called.
TEST_P(Faults, EachPieceOfTheAllocators) {
  if (GetParam().find("external-") != std::string::npos) return;  // its data are in another file
  auto loaded = LoadedProgram::from_file(GetParam().c_str());
  ASSERT_TRUE(loaded.ok()) << last_error_message();
  const Program& program = (*loaded)->program();
  const auto meta = program.method_meta("forward");
  ASSERT_TRUE(meta.ok());
  const std::vector<TensorPtr> inputs = inputs_of(*meta);
  std::vector<uint8_t> structures(1 << 22), scratch(1 << 22);
  std::vector<std::vector<uint8_t>> buffers;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    buffers.emplace_back(*meta->memory_planned_buffer_size(i) + 64);
  }
  Environment environment;
  environment.kernels = default_kernels();
  environment.backends = default_backends();
  const auto attempt = [&]() -> Error {
    FailingAllocator method_memory(structures), temporary(scratch);
    std::vector<Span<uint8_t>> spans;
    for (auto& buffer : buffers) {
      auto* begin = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(buffer.data()) + 63) / 64 * 64);
      spans.push_back({begin, buffer.size() - 64});
    }
    HierarchicalAllocator planned(Span<Span<uint8_t>>(spans.data(), spans.size()));
    long news_before = news;
    auto method = Method::load(program, "forward", {&method_memory, &planned, &temporary}, environment);
    EXPECT_EQ(news.load(), news_before);
    if (!method.ok()) return method.error();
    std::vector<std::vector<uint8_t>> results;
    for (size_t i = 0; i < inputs.size(); ++i) RL_TRY(method->set_input(i, EValue(*inputs[i])));
    for (size_t i = 0; i < method->outputs_size(); ++i) {
      if (!method->output_needs_memory(i)) continue;
      results.emplace_back(1 << 16);
      RL_TRY(method->set_output_data_ptr(i, results.back().data(), results.back().size()));
    }
    news_before = news;
    const Error error = method->execute();
    EXPECT_EQ(news.load(), news_before);
    return error;
  };
  memory.calls = 0;
  ASSERT_EQ(attempt(), Error::Ok) << last_error_message();
  const long count = memory.calls, before = memory.live;
  ASSERT_GT(count, 3);
  for (long n = 0; n < count; ++n) {
    memory.calls = 0;
    memory.failing_call = n;
    expect_of_memory(attempt());
    memory.failing_call = -1;
    ASSERT_EQ(memory.live, before) << "a leak after allocation " << n;
  }
  EXPECT_EQ(attempt(), Error::Ok) << last_error_message();
  RecordProperty("allocations", static_cast<int>(count));
}

std::vector<std::string> programs() {
  std::vector<std::string> paths;
  const std::string base = std::string(RUSHLIGHT_TEST_DATA) + "/programs/0.1.0";
  DIR* folder = ::opendir(base.c_str());
  while (const dirent* entry = folder ? ::readdir(folder) : nullptr) {
    const std::string name = entry->d_name;
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".pte") == 0) paths.push_back(base + "/" + name);
  }
  if (folder) ::closedir(folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(info.param.rfind('/') + 1);
  name.resize(name.size() - 4);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Programs, Faults, ::testing::ValuesIn(programs()), name_of);

}  // namespace
}  // namespace rushlight
