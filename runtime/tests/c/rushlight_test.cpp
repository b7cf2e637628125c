#include "rushlight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rushlight/threads/thread_pool.h"
#include "tests/support/program_builder.h"

#ifdef RUSHLIGHT_SHARED_LIBRARY
#include <dlfcn.h>
#endif

namespace rushlight::testing {
namespace {

// forward(x, y, alpha) = x + alpha * y for float32 tensors of at most `rows` x 3. Output 0 is the sum, and alpha is 1.
// With `in_place`, the sum is in the memory of x.
std::vector<uint8_t> sums(int32_t rows, int8_t dynamism = 0, bool in_place = false) {
  TensorSpec x, y, sum;
  x.sizes = y.sizes = sum.sizes = {rows, 3};
  x.dynamism = y.dynamism = sum.dynamism = dynamism;
  const uint64_t bytes = (static_cast<uint64_t>(rows) * 12 + 63) / 64 * 64;
  y.offset = bytes;
  sum.offset = in_place ? 0 : 2 * bytes;
  PlanSpec plan;
  plan.values = {value(x), value(y), value(int64_t{2}), value(sum)};
  plan.operators = {{"aten::add", "out"}};
  plan.chains = {{kernel_call(0, {0, 1, 2, 3, 3})}};
  plan.inputs = {0, 1};
  plan.outputs = {3, 2};
  plan.memories = {0, static_cast<int64_t>(3 * bytes)};
  ProgramSpec spec;
  spec.plans = {plan};
  return build(spec);
}

struct Loaded {
  explicit Loaded(std::vector<uint8_t> file, const rushlight_method_options* options = nullptr)
      : bytes(std::move(file)) {
    status = rushlight_program_load_buffer(bytes.data(), bytes.size(), nullptr, nullptr, &program);
    if (status == RUSHLIGHT_OK) status = rushlight_method_load(program, "forward", options, &method);
  }
  ~Loaded() {
    rushlight_program_free(program);
    rushlight_method_free(method);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  std::vector<uint8_t> bytes;
  rushlight_program* program = nullptr;
  rushlight_method* method = nullptr;
  rushlight_status status;
};

rushlight_value matrix(std::vector<float>& data, int32_t rows) {
  rushlight_value value;
  const int32_t sizes[] = {rows, 3};
  EXPECT_EQ(rushlight_tensor(&value, RUSHLIGHT_FLOAT32, 2, sizes, data.data()), RUSHLIGHT_OK);
  return value;
}

TEST(CApi, RunsAMethod) {
  Loaded loaded(sums(2));
  ASSERT_EQ(loaded.status, RUSHLIGHT_OK) << rushlight_last_error();
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y = {10, 20, 30, 40, 50, 60};
  const rushlight_value inputs[] = {matrix(x, 2), matrix(y, 2)};
  ASSERT_EQ(rushlight_method_run(loaded.method, inputs, 2), RUSHLIGHT_OK) << rushlight_last_error();
  rushlight_value output;
  ASSERT_EQ(rushlight_method_output(loaded.method, 0, &output), RUSHLIGHT_OK);
  EXPECT_EQ(output.kind, RUSHLIGHT_TENSOR);
  EXPECT_EQ(output.dtype, RUSHLIGHT_FLOAT32);
  EXPECT_EQ(output.rank, 2);
  EXPECT_EQ(output.sizes[0], 2);
  EXPECT_EQ(output.sizes[1], 3);
  EXPECT_EQ(output.dim_order[1], 1);
  ASSERT_EQ(output.nbytes, 24u);
  EXPECT_EQ(static_cast<const float*>(output.data)[5], 126.0f);
  ASSERT_EQ(rushlight_method_output(loaded.method, 1, &output), RUSHLIGHT_OK);
  EXPECT_EQ(output.kind, RUSHLIGHT_INTEGER);
  EXPECT_EQ(output.integer, 2);
}

TEST(CApi, TakesAResultOfTheLastRun) {
  Loaded loaded(sums(1, 0, true));
  ASSERT_EQ(loaded.status, RUSHLIGHT_OK) << rushlight_last_error();
  std::vector<float> x = {1, 2, 3}, y = {10, 20, 30};
  rushlight_value inputs[] = {matrix(x, 1), matrix(y, 1)};
  ASSERT_EQ(rushlight_method_run(loaded.method, inputs, 2), RUSHLIGHT_OK) << rushlight_last_error();
  ASSERT_EQ(rushlight_method_output(loaded.method, 0, &inputs[1]), RUSHLIGHT_OK);
  EXPECT_EQ(static_cast<const float*>(inputs[1].data)[2], 63.0f);
  ASSERT_EQ(rushlight_method_run(loaded.method, inputs, 2), RUSHLIGHT_OK) << rushlight_last_error();
  ASSERT_EQ(rushlight_method_output(loaded.method, 0, &inputs[1]), RUSHLIGHT_OK);
  EXPECT_EQ(static_cast<const float*>(inputs[1].data)[2], 129.0f);
}

TEST(CApi, TellsWhatAProgramHas) {
  Loaded loaded(sums(4, 1));
  ASSERT_EQ(rushlight_program_method_count(loaded.program), 1u);
  EXPECT_STREQ(rushlight_program_method_name(loaded.program, 0), "forward");
  EXPECT_EQ(rushlight_program_method_name(loaded.program, 1), nullptr);
  rushlight_method_info method = {};
  method.struct_size = sizeof method;
  ASSERT_EQ(rushlight_program_method_info(loaded.program, "forward", &method), RUSHLIGHT_OK);
  EXPECT_EQ(method.inputs, 2u);
  EXPECT_EQ(method.outputs, 2u);
  EXPECT_EQ(method.instructions, 1u);
  EXPECT_EQ(method.planned_bytes, 192u);
  EXPECT_EQ(method.struct_size, sizeof method);
  rushlight_value_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(rushlight_program_input_info(loaded.program, "forward", 1, &info), RUSHLIGHT_OK);
  EXPECT_EQ(info.kind, RUSHLIGHT_TENSOR);
  EXPECT_EQ(info.dynamism, RUSHLIGHT_DYNAMIC_BOUND);
  EXPECT_EQ(info.sizes[0], 4);
  EXPECT_EQ(info.nbytes, 48u);
  ASSERT_EQ(rushlight_program_output_info(loaded.program, "forward", 1, &info), RUSHLIGHT_OK);
  EXPECT_EQ(info.kind, RUSHLIGHT_INTEGER);
  EXPECT_EQ(rushlight_program_input_info(loaded.program, "forward", 2, &info), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(rushlight_program_method_info(loaded.program, "backward", &method), RUSHLIGHT_NOT_FOUND);
  EXPECT_NE(std::strstr(rushlight_last_error(), "backward"), nullptr);
}

TEST(CApi, WritesOnlyTheMembersThatTheCallerKnows) {
  Loaded loaded(sums(2));
  struct {
    size_t struct_size, inputs, untouched;
  } older = {2 * sizeof(size_t), 0, 7};
  ASSERT_EQ(rushlight_program_method_info(loaded.program, "forward", reinterpret_cast<rushlight_method_info*>(&older)),
            RUSHLIGHT_OK);
  EXPECT_EQ(older.inputs, 2u);
  EXPECT_EQ(older.untouched, 7u);
  rushlight_method_info unset = {};
  EXPECT_EQ(rushlight_program_method_info(loaded.program, "forward", &unset), RUSHLIGHT_INVALID_ARGUMENT);
}

TEST(CApi, NamesTheBackendsOfAMethod) {
  PlanSpec plan;
  plan.delegates = {{"SomeBackend", 0, 0, {}}, {"OtherBackend", 0, 0, {}}};
  ProgramSpec spec;
  spec.inline_delegate_data = {{1}};
  spec.plans = {plan};
  const std::vector<uint8_t> bytes = build(spec);
  rushlight_program* program = nullptr;
  ASSERT_EQ(rushlight_program_load_buffer(bytes.data(), bytes.size(), nullptr, nullptr, &program), RUSHLIGHT_OK)
      << rushlight_last_error();
  EXPECT_STREQ(rushlight_program_backend_name(program, "forward", 0), "SomeBackend");
  EXPECT_STREQ(rushlight_program_backend_name(program, "forward", 1), "OtherBackend");
  EXPECT_EQ(rushlight_program_backend_name(program, "forward", 2), nullptr);
  EXPECT_EQ(rushlight_program_backend_name(program, "backward", 0), nullptr);
  EXPECT_EQ(rushlight_program_backend_name(nullptr, "forward", 0), nullptr);
  rushlight_program_free(program);
}

TEST(CApi, ReadsAFileIntoMemory) {
  const std::vector<uint8_t> bytes = sums(2);
  const std::string path = ::testing::TempDir() + "read.pte";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fclose(file);
  rushlight_program* program = nullptr;
  ASSERT_EQ(rushlight_program_read(path.c_str(), &program), RUSHLIGHT_OK) << rushlight_last_error();
  ASSERT_EQ(std::remove(path.c_str()), 0);
  EXPECT_STREQ(rushlight_program_method_name(program, 0), "forward");
  EXPECT_EQ(rushlight_program_verify_digest(program), RUSHLIGHT_INVALID_PROGRAM);
  EXPECT_NE(std::strstr(rushlight_last_error(), "contains no digest"), nullptr);
  rushlight_program_free(program);
  EXPECT_EQ(rushlight_program_read(path.c_str(), &program), RUSHLIGHT_ACCESS_FAILED);
  EXPECT_EQ(program, nullptr);
}

TEST(CApi, SizesMayChangeWithinTheirBounds) {
  Loaded loaded(sums(4, 1));
  for (const int32_t rows : {1, 4, 2}) {
    std::vector<float> x(static_cast<size_t>(rows) * 3, 1.0f), y(x.size(), 2.0f);
    const rushlight_value inputs[] = {matrix(x, rows), matrix(y, rows)};
    ASSERT_EQ(rushlight_method_run(loaded.method, inputs, 2), RUSHLIGHT_OK) << rushlight_last_error();
    rushlight_value output;
    ASSERT_EQ(rushlight_method_output(loaded.method, 0, &output), RUSHLIGHT_OK);
    EXPECT_EQ(output.sizes[0], rows);
    EXPECT_EQ(static_cast<const float*>(output.data)[x.size() - 1], 5.0f);
  }
}

TEST(CApi, RefusesWrongInputs) {
  Loaded loaded(sums(2));
  std::vector<float> data(6);
  const rushlight_value right = matrix(data, 2);
  rushlight_value output;
  EXPECT_EQ(rushlight_method_run(loaded.method, &right, 1), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(rushlight_last_error(), "2 inputs"), nullptr);
  const auto refused = [&](rushlight_value wrong, rushlight_status status, const char* text) {
    EXPECT_EQ(rushlight_method_set_input(loaded.method, 0, &wrong), status) << text;
    EXPECT_NE(std::strstr(rushlight_last_error(), text), nullptr) << rushlight_last_error();
  };
  rushlight_value wrong = right;
  wrong.dtype = RUSHLIGHT_INT32;
  refused(wrong, RUSHLIGHT_INVALID_ARGUMENT, "float32");
  wrong.dtype = 99;
  refused(wrong, RUSHLIGHT_INVALID_ARGUMENT, "unknown dtype 99");
  wrong = right;
  wrong.rank = 17;
  refused(wrong, RUSHLIGHT_INVALID_ARGUMENT, "rank 17");
  wrong.rank = 1;
  refused(wrong, RUSHLIGHT_INVALID_ARGUMENT, "2 dimensions");
  wrong = right;
  wrong.nbytes = 23;
  refused(wrong, RUSHLIGHT_INVALID_ARGUMENT, "need 24");
  wrong = right;
  wrong.data = nullptr;
  refused(wrong, RUSHLIGHT_INVALID_ARGUMENT, "null");
  wrong = right;
  wrong.sizes[0] = -1;
  refused(wrong, RUSHLIGHT_INVALID_ARGUMENT, "negative");
  wrong = right;
  wrong.dim_order[1] = 5;
  refused(wrong, RUSHLIGHT_INVALID_ARGUMENT, "dim order");
  wrong = right;
  wrong.dim_order[0] = 1;
  refused(wrong, RUSHLIGHT_INVALID_ARGUMENT, "contiguous");
  wrong = {};
  wrong.kind = RUSHLIGHT_REAL;
  refused(wrong, RUSHLIGHT_INVALID_TYPE, "Double");
  wrong.kind = 42;
  refused(wrong, RUSHLIGHT_INVALID_TYPE, "kind 42");
  EXPECT_EQ(rushlight_method_set_input(loaded.method, 2, &right), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(rushlight_method_output(loaded.method, 2, &output), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(rushlight_method_attribute(loaded.method, "cache", &output), RUSHLIGHT_NOT_FOUND);
  EXPECT_EQ(rushlight_method_reset_state(loaded.method), RUSHLIGHT_OK);
  EXPECT_EQ(rushlight_method_reset_state(nullptr), RUSHLIGHT_INVALID_ARGUMENT);
  const int32_t large[] = {1 << 30, 1 << 30, 1 << 30};
  EXPECT_EQ(rushlight_tensor(&output, RUSHLIGHT_FLOAT32, 3, large, nullptr), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(rushlight_tensor(&output, RUSHLIGHT_FLOAT32, 2, large, nullptr), RUSHLIGHT_OK);
  const int32_t bytes_overflow[] = {1 << 30, 1 << 30, 2};
  EXPECT_EQ(rushlight_tensor(&output, RUSHLIGHT_FLOAT64, 3, bytes_overflow, nullptr), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(rushlight_dtype_size(static_cast<rushlight_dtype>(256 + RUSHLIGHT_FLOAT32)), 0u);
  EXPECT_EQ(rushlight_tensor(&output, static_cast<rushlight_dtype>(256 + RUSHLIGHT_FLOAT32), 2, large, nullptr),
            RUSHLIGHT_INVALID_ARGUMENT);
}

TEST(CApi, ExecutesOnlyWithAllInputs) {
  Loaded loaded(sums(1));
  std::vector<float> x = {1, 2, 3};
  const rushlight_value input = matrix(x, 1);
  ASSERT_EQ(rushlight_method_set_input(loaded.method, 0, &input), RUSHLIGHT_OK);
  EXPECT_EQ(rushlight_method_execute(loaded.method), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(rushlight_last_error(), "input 1 has not been set"), nullptr) << rushlight_last_error();
  ASSERT_EQ(rushlight_method_set_input(loaded.method, 1, &input), RUSHLIGHT_OK);
  EXPECT_EQ(rushlight_method_execute(loaded.method), RUSHLIGHT_OK) << rushlight_last_error();
  EXPECT_EQ(rushlight_method_execute(loaded.method), RUSHLIGHT_OK) << rushlight_last_error();
}

TEST(CApi, NullArgumentsAreErrors) {
  rushlight_program* program = nullptr;
  rushlight_method* method = nullptr;
  rushlight_thread_pool* pool = nullptr;
  EXPECT_EQ(rushlight_program_load(nullptr, &program), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(rushlight_last_error(), "path is null"), nullptr);
  EXPECT_EQ(rushlight_program_load("/no/such/file.pte", &program), RUSHLIGHT_ACCESS_FAILED);
  EXPECT_EQ(rushlight_program_load("/no/such/file.pte", nullptr), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(rushlight_method_load(nullptr, "forward", nullptr, &method), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(rushlight_method_execute(nullptr), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(rushlight_thread_pool_new(0, &pool), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(rushlight_thread_pool_custom(2, nullptr, nullptr, &pool), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(rushlight_load_library("/no/such/library.so"), RUSHLIGHT_ACCESS_FAILED);
  EXPECT_EQ(rushlight_program_method_count(nullptr), 0u);
  rushlight_program_free(nullptr);
  rushlight_method_free(nullptr);
  rushlight_thread_pool_free(nullptr);
  Loaded loaded(sums(2));
  EXPECT_EQ(rushlight_method_load(loaded.program, "none", nullptr, &method), RUSHLIGHT_NOT_FOUND);
  rushlight_method_options options = {sizeof options, nullptr, nullptr, 1, 0, 0};
  EXPECT_EQ(rushlight_method_load(loaded.program, "forward", &options, &method), RUSHLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(method, nullptr);
}

TEST(CApi, ReleasesBuffersOnce) {
  const auto release = [](void* count) { ++*static_cast<int*>(count); };
  int released = 0;
  const std::vector<uint8_t> program_bytes = sums(2);
  const size_t size = program_bytes.size();
  std::vector<uint8_t> memory(size + 64);
  void* bytes = memory.data();
  size_t space = memory.size();
  ASSERT_NE(std::align(64, size, bytes, space), nullptr);  // other bytes would be copied
  std::memcpy(bytes, program_bytes.data(), size);
  rushlight_program* program = nullptr;
  rushlight_method* method = nullptr;
  ASSERT_EQ(rushlight_program_load_buffer(bytes, size, release, &released, &program), RUSHLIGHT_OK);
  ASSERT_EQ(rushlight_method_load(program, "forward", nullptr, &method), RUSHLIGHT_OK);
  rushlight_program_free(program);
  EXPECT_EQ(released, 0);  // the method keeps its program alive
  rushlight_method_free(method);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(rushlight_program_load_buffer(bytes, 40, release, &released, &program), RUSHLIGHT_INVALID_PROGRAM);
  EXPECT_EQ(program, nullptr);
  EXPECT_EQ(released, 2);
  const void* const odd = static_cast<uint8_t*>(bytes) + 1;
  EXPECT_EQ(rushlight_program_load_buffer(odd, 40, release, &released, &program), RUSHLIGHT_INVALID_PROGRAM);
  EXPECT_EQ(released, 3);  // the copy has no owner
}

TEST(CApi, RunsOnThreadsOfTheCaller) {
  std::atomic<int> runs{0};
  const auto run = [](void* user, size_t count, void (*task)(void*, size_t), void* context) {
    ++*static_cast<std::atomic<int>*>(user);
    for (size_t i = 0; i < count; ++i) task(context, i);
  };
  rushlight_thread_pool* pool = nullptr;
  ASSERT_EQ(rushlight_thread_pool_custom(2, run, &runs, &pool), RUSHLIGHT_OK);
  {
    const int32_t rows = 1 << 18;
    const rushlight_method_options options = {sizeof options, pool, nullptr, 0, 0, 0};
    Loaded loaded(sums(rows), &options);
    ASSERT_EQ(loaded.status, RUSHLIGHT_OK) << rushlight_last_error();
    std::vector<float> x(rows * 3, 1.0f), y(rows * 3, 2.0f);
    const rushlight_value inputs[] = {matrix(x, rows), matrix(y, rows)};
    ASSERT_EQ(rushlight_method_run(loaded.method, inputs, 2), RUSHLIGHT_OK) << rushlight_last_error();
    rushlight_value output;
    ASSERT_EQ(rushlight_method_output(loaded.method, 0, &output), RUSHLIGHT_OK);
    EXPECT_EQ(static_cast<const float*>(output.data)[rows * 3 - 1], 5.0f);
    EXPECT_GT(runs, 0);
  }
  rushlight_thread_pool_free(pool);
}

// A program that jumps to its first instruction forever.
std::vector<uint8_t> endless() {
  PlanSpec plan;
  plan.values = {value(false)};
  plan.outputs = {0};
  plan.chains = {{jump_false(0, 0)}};
  ProgramSpec spec;
  spec.plans = {plan};
  return build(spec);
}

TEST(CApi, KeepsToItsLimits) {
  rushlight_method_options options = {sizeof options, nullptr, nullptr, 0, 1000, 0};
  Loaded loaded(endless(), &options);
  ASSERT_EQ(loaded.status, RUSHLIGHT_OK) << rushlight_last_error();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(rushlight_method_execute(loaded.method), RUSHLIGHT_OUT_OF_RESOURCES);
    EXPECT_NE(std::strstr(rushlight_last_error(), "the limit of 1000 instructions"), nullptr) << rushlight_last_error();
  }
  options.max_memory = 1000;
  Loaded large(sums(1 << 10), &options);
  EXPECT_EQ(large.status, RUSHLIGHT_OUT_OF_RESOURCES);
  EXPECT_NE(std::strstr(rushlight_last_error(), "the limit of 1000 bytes"), nullptr) << rushlight_last_error();
  options.max_memory = 1 << 20;
  Loaded fitting(sums(1 << 10), &options);
  EXPECT_EQ(fitting.status, RUSHLIGHT_OK) << rushlight_last_error();
}

#if !defined(RUSHLIGHT_SINGLE_THREAD) && !defined(__wasi__)
TEST(CApi, AnotherThreadCancelsACall) {
  const rushlight_method_options options = {sizeof options, nullptr, nullptr, 0, UINT64_MAX, 0};
  Loaded loaded(endless(), &options);
  ASSERT_EQ(loaded.status, RUSHLIGHT_OK) << rushlight_last_error();
  for (int i = 0; i < 3; ++i) {
    std::atomic<bool> is_done{false};
    std::thread canceller([&] {
      while (!is_done.load()) rushlight_method_cancel(loaded.method);  // until the call has started and ended
    });
    EXPECT_EQ(rushlight_method_execute(loaded.method), RUSHLIGHT_CANCELLED);
    EXPECT_NE(std::strstr(rushlight_last_error(), "the call was cancelled"), nullptr) << rushlight_last_error();
    is_done.store(true);
    canceller.join();
  }
  rushlight_method_cancel(nullptr);
}

TEST(CApi, MethodsOfOneProgramRunAtTheSameTime) {
  std::vector<uint8_t> bytes = sums(2);
  rushlight_program* program = nullptr;
  ASSERT_EQ(rushlight_program_load_buffer(bytes.data(), bytes.size(), nullptr, nullptr, &program), RUSHLIGHT_OK);
  rushlight_thread_pool* pool = nullptr;
  ASSERT_EQ(rushlight_thread_pool_new(2, &pool), RUSHLIGHT_OK);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const rushlight_method_options options = {sizeof options, pool, nullptr, 0, 0, 0};
      rushlight_method* method = nullptr;
      if (rushlight_method_load(program, "forward", &options, &method) != RUSHLIGHT_OK) return;
      for (int i = 0; i < 100; ++i) {
        std::vector<float> x(6, static_cast<float>(t)), y(6, static_cast<float>(i));
        const rushlight_value inputs[] = {matrix(x, 2), matrix(y, 2)};
        rushlight_value output;
        if (rushlight_method_run(method, inputs, 2) == RUSHLIGHT_OK &&
            rushlight_method_output(method, 0, &output) == RUSHLIGHT_OK &&
            static_cast<const float*>(output.data)[5] == static_cast<float>(t + 2 * i)) {
          ++right;
        }
      }
      rushlight_method_free(method);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 400);
  rushlight_program_free(program);
  rushlight_thread_pool_free(pool);
}
#endif

TEST(CApi, ComparesADigestOnRequest) {
  const std::string folder = std::string(RUSHLIGHT_TEST_DATA) + "/programs/0.1.0/";
  rushlight_program* program = nullptr;
  ASSERT_EQ(rushlight_program_load((folder + "digest-kernels.pte").c_str(), &program), RUSHLIGHT_OK);
  EXPECT_EQ(rushlight_program_verify_digest(program), RUSHLIGHT_OK) << rushlight_last_error();
  rushlight_program_free(program);
  ASSERT_EQ(rushlight_program_load((folder + "rows-kernels.pte").c_str(), &program), RUSHLIGHT_OK);
  EXPECT_EQ(rushlight_program_verify_digest(program), RUSHLIGHT_INVALID_PROGRAM);
  rushlight_program_free(program);
  EXPECT_EQ(rushlight_program_verify_digest(nullptr), RUSHLIGHT_INVALID_ARGUMENT);
}

std::atomic<int> g_allocated{0}, g_released{0};

TEST(CApi, UsesMemoryOfTheCaller) {
  rushlight_platform platform = {};
  platform.struct_size = sizeof platform;
  platform.allocate = [](size_t size, size_t alignment) {
    ++g_allocated;
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  };
  EXPECT_EQ(rushlight_set_platform(&platform), RUSHLIGHT_INVALID_ARGUMENT);  // `release` is missing
  platform.release = [](void* memory) {
    if (memory) ++g_released;
    std::free(memory);
  };
  ASSERT_EQ(rushlight_set_platform(&platform), RUSHLIGHT_OK);
  {
    Loaded loaded(sums(2));
    EXPECT_EQ(loaded.status, RUSHLIGHT_OK);
    EXPECT_GT(g_allocated, 0);
  }
  EXPECT_EQ(g_allocated, g_released);
  platform = {};
  platform.struct_size = sizeof platform;
  EXPECT_EQ(rushlight_set_platform(&platform), RUSHLIGHT_OK);
}

std::atomic<int> g_started{0}, g_joined{0};

TEST(CApi, UsesThreadsOfTheCaller) {
  rushlight_platform platform = {};
  platform.struct_size = sizeof platform;
  platform.thread_start = [](void (*run)(void*), void* context) -> void* {
    ++g_started;
    return new std::thread(run, context);
  };
  EXPECT_EQ(rushlight_set_platform(&platform), RUSHLIGHT_INVALID_ARGUMENT);  // `thread_join` is missing
  platform.thread_join = [](void* thread) {
    ++g_joined;
    static_cast<std::thread*>(thread)->join();
    delete static_cast<std::thread*>(thread);
  };
  ASSERT_EQ(rushlight_set_platform(&platform), RUSHLIGHT_OK);
  {
    rushlight::HostThreadPool pool(3);
    std::atomic<int> calls{0};
    pool.run(100, [](void* context, size_t) { ++*static_cast<std::atomic<int>*>(context); }, &calls);
    EXPECT_EQ(calls, 100);
    EXPECT_EQ(g_started, 2);
  }
  EXPECT_EQ(g_joined, 2);
  platform = {};
  platform.struct_size = offsetof(rushlight_platform, panic);  // as in an application of the first version
  EXPECT_EQ(rushlight_set_platform(&platform), RUSHLIGHT_OK);
}

TEST(CApi, NamesAndVersions) {
  EXPECT_EQ(rushlight_api_version(), static_cast<uint32_t>(RUSHLIGHT_API_VERSION));
  EXPECT_EQ(std::string(rushlight_version()).find('.'), 1u);
  EXPECT_STREQ(rushlight_status_name(RUSHLIGHT_INVALID_PROGRAM), "InvalidProgram");
  EXPECT_EQ(rushlight_dtype_size(RUSHLIGHT_BFLOAT16), 2u);
  EXPECT_EQ(rushlight_dtype_size(static_cast<rushlight_dtype>(77)), 0u);
}

#ifdef RUSHLIGHT_SHARED_LIBRARY
TEST(CApi, TheSharedLibraryExportsVersionedSymbolsAlone) {
  void* library = dlopen(RUSHLIGHT_SHARED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto version = reinterpret_cast<const char* (*)()>(dlvsym(library, "rushlight_version", "RUSHLIGHT_1"));
  ASSERT_NE(version, nullptr);
  EXPECT_STREQ(version(), rushlight_version());
  EXPECT_EQ(dlsym(library, "_ZN9rushlight18last_error_messageEv"), nullptr);
  dlclose(library);
}
#endif

}  // namespace
}  // namespace rushlight::testing
