#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "rushlight/module/defaults.h"
#include "rushlight/module/file_loader.h"
#include "rushlight/threads/thread_pool.h"
#include "tests/support/kernels.h"
#include "tests/support/loaded.h"
#include "tests/support/small_net.h"

namespace rushlight::testing {
namespace {

using Floats = std::vector<float>;

// A temporary file, which is removed at the end of the scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<uint8_t>& bytes) {
    const int file = mkstemp(path_);
    EXPECT_EQ(::write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(file);
  }
  ~TemporaryFile() { std::remove(path_); }
  const char* path() const { return path_; }

 private:
  char path_[40] = "/tmp/rushlight_test_XXXXXX";
};

template <typename Loader>
void check_loader() {
  std::vector<uint8_t> bytes(10000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  const TemporaryFile file(bytes);
  auto opened = Loader::open(file.path());
  ASSERT_TRUE(opened.ok()) << last_error_message();
  DataLoader& loader = **opened;
  EXPECT_EQ(*loader.size(), 10000u);
  for (const auto& [offset, size] :
       {std::pair<size_t, size_t>{0, 10000}, {4097, 5000}, {9999, 1}, {10000, 0}, {5, 0}}) {
    auto buffer = loader.load(offset, size, SegmentKind::Constant);
    ASSERT_TRUE(buffer.ok()) << last_error_message();
    EXPECT_EQ(buffer->size(), size);
    EXPECT_TRUE(std::equal(bytes.begin() + static_cast<long>(offset), bytes.begin() + static_cast<long>(offset + size),
                           static_cast<const uint8_t*>(buffer->data())));
    std::vector<uint8_t> copy(size + 1);
    EXPECT_EQ(loader.load_into(offset, size, SegmentKind::Mutable, copy.data()), Error::Ok);
    EXPECT_EQ(std::memcmp(copy.data(), bytes.data() + offset, size), 0);
  }
  for (const auto& [offset, size] : {std::pair<size_t, size_t>{0, 10001}, {10001, 0}, {SIZE_MAX, 2}}) {
    EXPECT_EQ(loader.load(offset, size, SegmentKind::Constant).error(), Error::AccessFailed);
    uint8_t byte;
    EXPECT_EQ(loader.load_into(offset, size, SegmentKind::Constant, &byte), Error::AccessFailed);
  }
  EXPECT_EQ(Loader::open("/no/such/file.pte").error(), Error::AccessFailed);
  EXPECT_MESSAGE("cannot open '/no/such/file.pte': No such file");
  EXPECT_EQ(Loader::open("/tmp").error(), Error::AccessFailed);
}

template <typename Loader>
void check_descriptor() {
  const TemporaryFile file({1, 2, 3, 4, 5});
  const int descriptor = ::open(file.path(), O_RDONLY);
  ASSERT_EQ(::lseek(descriptor, 2, SEEK_SET), 2);
  {
    auto loader = Loader::from_descriptor(descriptor);
    ASSERT_TRUE(loader.ok()) << last_error_message();
    auto buffer = (*loader)->load(1, 3, SegmentKind::Constant);
    ASSERT_TRUE(buffer.ok()) << last_error_message();
    EXPECT_EQ(static_cast<const uint8_t*>(buffer->data())[2], 4);
    EXPECT_EQ(::lseek(descriptor, 0, SEEK_CUR), 2);  // the position is not used
  }
  EXPECT_EQ(::close(descriptor), -1);  // the loader has closed it
  EXPECT_EQ(Loader::from_descriptor(descriptor).error(), Error::AccessFailed);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(Loader::from_descriptor(ends[0]).error(), Error::AccessFailed);
  EXPECT_EQ(::close(ends[0]), 0);
  EXPECT_EQ(::close(ends[1]), 0);
}

TEST(Loaders, Descriptors) {
  check_descriptor<FileDataLoader>();
  check_descriptor<MmapDataLoader>();
}

TEST(Loaders, Files) { check_loader<FileDataLoader>(); }
TEST(Loaders, MappedFiles) { check_loader<MmapDataLoader>(); }

TEST(GrowingAllocator, GrowsAndKeepsWhatItNeeds) {
  GrowingAllocator memory(128);
  EXPECT_EQ(memory.footprint(), 0u);
  for (int round = 0; round < 3; ++round) {
    for (const size_t alignment : {8, 64, 4096}) {
      auto* bytes = static_cast<uint8_t*>(memory.allocate(1000, alignment));
      ASSERT_NE(bytes, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % alignment, 0u);
      std::memset(bytes, 0xff, 1000);
    }
    memory.reset();
  }
  const size_t settled = memory.footprint();
  for (const size_t alignment : {8, 64, 4096}) ASSERT_NE(memory.allocate(1000, alignment), nullptr);
  memory.reset();
  EXPECT_EQ(memory.footprint(), settled);
  EXPECT_EQ(memory.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(memory.allocate(SIZE_MAX / 2), nullptr);
  EXPECT_EQ(memory.allocate(1, 3), nullptr);
}

Environment default_environment() {
  Environment environment;
  environment.kernels = default_kernels();
  environment.backends = default_backends();
  environment.threads = &default_thread_pool();
  return environment;
}

TEST(GrowingAllocator, KeepsToABudget) {
  MemoryBudget budget{10000};
  GrowingAllocator first(128, &budget), second(128, &budget);
  EXPECT_NE(first.allocate(4000), nullptr);
  EXPECT_NE(second.allocate(4000), nullptr);
  EXPECT_EQ(budget.used, first.footprint() + second.footprint());
  EXPECT_EQ(first.allocate(4000), nullptr);
  EXPECT_EQ(first.exceeded_limit(), 10000u);
  EXPECT_NE(first.allocate(8), nullptr);
  EXPECT_EQ(first.exceeded_limit(), 0u);
  EXPECT_EQ(first.allocate(SIZE_MAX), nullptr);
  EXPECT_LE(budget.used, budget.limit);
}

TEST(Limits, AMethodKeepsToTheLimitOfMemoryOrFails) {
  const std::vector<uint8_t> bytes = build(small_net());
  const auto program = load_program(bytes);
  ASSERT_NE(program, nullptr);
  size_t loaded_with = 0;
  for (size_t limit = 0; loaded_with == 0; limit += 512) {
    ASSERT_LT(limit, size_t{1} << 24);
    Environment environment = default_environment();
    environment.limits.memory = limit;
    auto loaded = LoadedMethod::load(program, "forward", environment);
    if (loaded.ok() && (*loaded)->allocate_outputs() == Error::Ok) {
      loaded_with = limit;
      EXPECT_LE((*loaded)->planned_bytes() + (*loaded)->method_bytes() + (*loaded)->temporary_bytes(), limit);
      break;
    }
    if (!loaded.ok()) {
      EXPECT_EQ(loaded.error(), Error::OutOfResources) << last_error_message();
    }
    EXPECT_MESSAGE("the limit of " + std::to_string(limit) + " bytes (Limits::memory)");
  }
  EXPECT_GT(loaded_with, 512u);
}

TEST(Module, ARunThatFailsKeepsNoInputs) {
  const std::vector<uint8_t> bytes = build(add_program());
  auto loaded = LoadedMethod::load(load_program(bytes), "forward", test_environment());
  ASSERT_TRUE(loaded.ok()) << last_error_message();
  OwnTensor<float> x({2}, {1, 2}), wrong({3}, {1, 2, 3});
  const EValue inputs[] = {x.value(), wrong.value()};
  EXPECT_EQ((*loaded)->run(inputs), Error::InvalidArgument);
  EXPECT_EQ((*loaded)->run({}), Error::InvalidArgument);
  EXPECT_MESSAGE("has 2 inputs, but 0 are given");
  const EValue both[] = {x.value(), x.value()};
  EXPECT_EQ((*loaded)->run(both), Error::Ok);
}

// The first result is in the memory of the first input.
TEST(Module, ResultsAreInputsOfTheNextRun) {
  for (const bool is_planned : {true, false}) {
    ProgramSpec program = add_program();
    PlanSpec& plan = program.plans[0];
    TensorSpec inputs = planned({2}, 0), second = planned({2}, 16);
    inputs.is_planned = second.is_planned = is_planned;
    plan.values = {value(inputs), value(second), value(planned({2}, 0)), value(int64_t{1}), value(planned({2}, 32))};
    plan.outputs = {2, 4};
    plan.chains = {{kernel_call(0, {0, 1, 3, 4, 4}), kernel_call(0, {4, 1, 3, 2, 2})}};
    Fixture f(program);
    ASSERT_TRUE(f.ok()) << f.message;
    OwnTensor<float> x({2}, {1, 2}), y({2}, {10, 20});
    const EValue first[] = {x.value(), y.value()};
    ASSERT_EQ(f.loaded->run(first), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(f.method().get_output(0)), (Floats{21, 42}));
    const EValue next[] = {x.value(), f.method().get_output(0)};
    ASSERT_EQ(f.loaded->run(next), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(f.method().get_output(1)), (Floats{22, 44}));
    EXPECT_EQ(floats_of(f.method().get_output(0)), (Floats{43, 86}));
    const EValue both[] = {f.method().get_output(0), f.method().get_output(0)};
    ASSERT_EQ(f.loaded->run(both), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(f.method().get_output(0)), (Floats{129, 258}));
  }
}

// The method returns its inputs, too. Each size has an upper bound of 4.
TEST(Module, ResultsThatAreInputsAreExchanged) {
  for (const bool is_planned : {true, false}) {
    ProgramSpec program = add_program();
    PlanSpec& plan = program.plans[0];
    for (size_t i = 0; i < 2; ++i) {
      TensorSpec input = planned({4}, 16 * i);
      input.dynamism = 1;
      input.is_planned = is_planned;
      plan.values[i] = value(input);
    }
    plan.outputs = {0, 1};
    plan.chains = {{}};
    const std::vector<uint8_t> bytes = build(program);
    std::vector<uint8_t> own_memory(128);
    Span<uint8_t> buffer(own_memory.data(), own_memory.size());
    HierarchicalAllocator planned_memory({&buffer, 1});
    MemoryManager memory;
    for (HierarchicalAllocator* given : {static_cast<HierarchicalAllocator*>(nullptr), &planned_memory}) {
      memory.planned = given;
      auto loaded = LoadedMethod::load(load_program(bytes), "forward", test_environment(), nullptr, memory);
      ASSERT_TRUE(loaded.ok()) << last_error_message();
      const Method& method = (*loaded)->method();
      OwnTensor<float> x({1}, {1}), y({3}, {2, 3, 4});
      const EValue first[] = {x.value(), y.value()};
      ASSERT_EQ((*loaded)->run(first), Error::Ok) << last_error_message();
      const EValue exchanged[] = {method.get_output(1), method.get_output(0)};
      for (const auto& [left, right] : {std::pair<Floats, Floats>{{2, 3, 4}, {1}}, {{1}, {2, 3, 4}}}) {
        ASSERT_EQ((*loaded)->set_inputs(exchanged), Error::Ok) << last_error_message();
        ASSERT_EQ((*loaded)->run({}), Error::Ok) << last_error_message();
        EXPECT_EQ(floats_of(method.get_output(0)), left);
        EXPECT_EQ(floats_of(method.get_output(1)), right);
      }
    }
  }
}

TEST(Module, ResultsInMemoryOfTheCallerAreInputsOfTheNextRun) {
  ProgramSpec program = add_program();
  PlanSpec& plan = program.plans[0];
  TensorSpec unplanned = planned({2}, 0);
  unplanned.is_planned = false;
  // sum = (x + y) + y, and the first sum is in the memory of the output
  plan.values[0] = plan.values[1] = plan.values[2] = value(unplanned);
  plan.chains = {{kernel_call(0, {0, 1, 3, 2, 2}), kernel_call(0, {2, 1, 3, 2, 2})}};
  Fixture f(program);
  ASSERT_TRUE(f.ok()) << f.message;
  OwnTensor<float> x({2}, {1, 2}), y({2}, {10, 20});
  Floats sum(2);
  ASSERT_EQ(f.method().set_output_data_ptr(0, sum.data(), 8), Error::Ok);
  const EValue first[] = {x.value(), y.value()};
  ASSERT_EQ(f.loaded->run(first), Error::Ok) << last_error_message();
  EXPECT_EQ(sum, (Floats{21, 42}));
  const EValue next[] = {x.value(), f.method().get_output(0)};
  ASSERT_EQ(f.loaded->run(next), Error::Ok) << last_error_message();
  EXPECT_EQ(sum, (Floats{43, 86}));
  ASSERT_EQ(f.loaded->set_input(0, x.value()), Error::Ok);
  ASSERT_EQ(f.loaded->set_input(1, f.method().get_output(0)), Error::Ok);
  ASSERT_EQ(f.loaded->run({}), Error::Ok) << last_error_message();
  ASSERT_EQ(f.loaded->run({}), Error::Ok) << last_error_message();
  EXPECT_EQ(sum, (Floats{87, 174}));
}

Floats run_small_net(LoadedMethod& loaded, int batch) {
  OwnTensor<float> x({batch, 3, 6, 6}, Floats(static_cast<size_t>(batch) * 108));
  for (size_t i = 0; i < x.data.size(); ++i) x.data[i] = 0.1f * static_cast<float>(i % 11);
  const EValue inputs[] = {x.value()};
  EXPECT_EQ(loaded.run(inputs), Error::Ok) << last_error_message();
  EXPECT_EQ(loaded.method().get_output(2).to_int(), batch);
  return floats_of(loaded.method().get_output(0));
}

TEST(Module, AnotherThreadCancelsACall) {
  ProgramSpec spec;
  PlanSpec plan;
  plan.values = {value(false)};
  plan.outputs = {0};
  plan.chains = {{jump_false(0, 0)}};
  spec.plans = {plan};
  Environment environment = default_environment();
  environment.limits.instructions = UINT64_MAX;
  Fixture fixture(spec, environment);
  ASSERT_TRUE(fixture.ok()) << fixture.message;
  for (int i = 0; i < 3; ++i) {
    std::atomic<bool> is_done{false};
    std::thread canceller([&] {
      while (!is_done.load()) fixture.method().cancel();  // until the call has started and ended
    });
    EXPECT_EQ(fixture.method().execute(), Error::Cancelled);
    EXPECT_MESSAGE("the call was cancelled");
    is_done.store(true);
    canceller.join();
  }
}

TEST(Module, RunsFromFilesAndBuffersAlike) {
  const std::vector<uint8_t> bytes = build(small_net());
  const TemporaryFile file(bytes);
  std::vector<uint8_t> shifted(bytes.size() + 1);
  std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  const Result<std::shared_ptr<LoadedProgram>> programs[] = {
      LoadedProgram::from_file(file.path(), LoadedProgram::Mode::Mmap),
      LoadedProgram::from_file(file.path(), LoadedProgram::Mode::File),
      LoadedProgram::from_buffer(bytes.data(), bytes.size()),
      LoadedProgram::from_buffer(shifted.data() + 1, bytes.size()),
  };
  Floats expected[3];
  for (const auto& program : programs) {
    ASSERT_TRUE(program.ok()) << last_error_message();
    auto loaded = LoadedMethod::load(*program, "forward", default_environment());
    ASSERT_TRUE(loaded.ok()) << last_error_message();
    for (const int batch : {2, 1}) {
      const Floats result = run_small_net(**loaded, batch);
      EXPECT_EQ(result.size(), 5u * static_cast<size_t>(batch));
      if (expected[batch].empty()) expected[batch] = result;
      EXPECT_EQ(result, expected[batch]);
    }
  }
}

TEST(Module, MethodsOfOneProgramRunAtTheSameTime) {
  const std::vector<uint8_t> bytes = build(small_net());
  const auto program = load_program(bytes);
  auto reference = LoadedMethod::load(program, "forward", default_environment());
  ASSERT_TRUE(reference.ok()) << last_error_message();
  const Floats expected[] = {{}, run_small_net(**reference, 1), run_small_net(**reference, 2)};
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      auto loaded = LoadedMethod::load(program, "forward", default_environment());
      if (!loaded.ok()) return;
      for (int i = 0; i < 100; ++i) right += run_small_net(**loaded, 1 + (i + t) % 2) == expected[1 + (i + t) % 2];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 300);
}

TEST(Module, LoadsMethodsWhenTheyAreUsed) {
  ProgramSpec spec = add_program();
  spec.plans[0].operators = {{"aten::add", "out"}};
  for (int i = 0; i < 3; ++i) {
    TensorSpec tensor = planned({2}, 0);
    tensor.is_planned = false;
    spec.plans[0].values[i] = value(tensor);
  }
  spec.plans.push_back(add_program().plans[0]);
  spec.plans[1].name = "broken";
  const TemporaryFile file(build(spec));
  Module::Options options;
  options.environment = default_environment();
  auto module = Module::load(file.path(), options);
  ASSERT_TRUE(module.ok()) << last_error_message();
  OwnTensor<float> x({2}, {1, 2}), y({2}, {10, 20});
  const EValue inputs[] = {x.value(), y.value()};
  for (int i = 0; i < 2; ++i) {
    const auto outputs = (*module)->forward(inputs);
    ASSERT_TRUE(outputs.ok()) << last_error_message();
    EXPECT_EQ(floats_of((*outputs)[0]), (Floats{11, 22})) << "the module gives memory to unplanned outputs";
    (*module)->unload_method("forward");
  }
  EXPECT_EQ((*module)->execute("broken", inputs).error(), Error::OperatorMissing);
  EXPECT_EQ((*module)->execute("absent", inputs).error(), Error::NotFound);
  EXPECT_EQ(Module::load("/no/such.pte", options).error(), Error::AccessFailed);
  options.data_paths = {"/no/such.ptd"};
  EXPECT_EQ(Module::load(file.path(), options).error(), Error::AccessFailed);
  EXPECT_MESSAGE("/no/such.ptd");
}

TEST(Module, DescribesMethods) {
  const std::vector<uint8_t> bytes = build(small_net());
  const auto program = load_program(bytes);
  const auto found = program->program().method_meta("forward");
  ASSERT_TRUE(found.ok());
  const MethodMeta meta = *found;
  EXPECT_EQ(meta.name(), "forward");
  EXPECT_EQ(meta.num_inputs(), 1u);
  EXPECT_EQ(meta.num_outputs(), 3u);
  EXPECT_EQ(*meta.output_tag(2), Tag::Int);
  EXPECT_EQ(meta.output_tag(3).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.output_tensor_meta(2).error(), Error::InvalidArgument);
  EXPECT_MESSAGE("output 2 of method 'forward' is not a tensor: its type is Int");
  const auto input = meta.input_tensor_meta(0);
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input->sizes.size(), 4u);
  EXPECT_EQ(input->nbytes, 864u);
  EXPECT_TRUE(input->is_memory_planned);
  EXPECT_EQ(input->dynamism, ShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(meta.num_memory_planned_buffers(), 1u);
  EXPECT_EQ(*meta.memory_planned_buffer_size(0), 2208u);
  EXPECT_EQ(meta.memory_planned_buffer_size(1).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.num_operators(), 10u);
  EXPECT_EQ(meta.operator_name(7)->overload, "Tensor_out");
  EXPECT_EQ(meta.num_instructions(), 13u);
  EXPECT_EQ(meta.num_attributes(), 1u);
  EXPECT_EQ(meta.attribute_tensor_meta(0)->name, "total");
  EXPECT_EQ(meta.attribute_tensor_meta(1).error(), Error::InvalidArgument);
  EXPECT_FALSE(meta.uses_backend("XnnpackBackend"));
}

}  // namespace
}  // namespace rushlight::testing
