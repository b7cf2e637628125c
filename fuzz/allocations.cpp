// Loads and runs a program repeatedly. Each time another allocation fails. The result must be a memory error without a
// leak, and the failed method must run afterwards. If a method has thousands of allocations, only some hundreds of them
// fail, which depend on the size of the file. A program that fails without a failing allocation is loaded only once.

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "rushlight/exec/method.h"
#include "target.h"
#include "tests/support/failing_memory.h"
#include "tests/support/run_hostile.h"

namespace rushlight {
namespace {

using testing::failing_memory;
using Bytes = std::vector<uint8_t>;

constexpr size_t kRoom = 1 << 22;        // bytes for structures, and bytes for scratch memory
constexpr size_t kMaxPlanned = 1 << 22;  // bytes of a planned buffer
constexpr long kMaxFailures = 400;       // failing allocations of a method

[[noreturn]] void report(const char* format, ...) {
  std::fprintf(stderr, "allocation %ld fails: ", failing_memory.failing_call);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "\n");
  std::abort();
}

// The counts over all inputs, which are printed at the end.
struct Counts {
  size_t programs = 0, failures = 0;
  ~Counts() { std::fprintf(stderr, "%zu programs ran, %zu allocations failed\n", programs, failures); }
};
Counts counts;

Environment environment() {
  Environment result;
  result.kernels = default_kernels();
  result.backends = default_backends();
  result.limits = testing::kHostileLimits;
  return result;
}

// Loads a method and executes it. If it fails at `failing_call`, executes it again with all its memory.
Error attempt(const Program& program, std::string_view name, testing::InputBytes inputs, long failing_call) {
  static Bytes structures(kRoom), scratch(kRoom);
  RL_ASSIGN(const MethodMeta meta, program.method_meta(name));
  std::vector<Bytes> buffers;
  std::vector<Span<uint8_t>> spans;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    RL_ASSIGN(const auto size, meta.memory_planned_buffer_size(i));
    RL_REQUIRE(static_cast<size_t>(size) <= kMaxPlanned, NotSupported, "planned buffer %zu is too large", i);
    buffers.emplace_back(static_cast<size_t>(size) + 64);
  }
  for (Bytes& buffer : buffers) {
    auto* begin = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(buffer.data()) + 63) / 64 * 64);
    spans.push_back({begin, buffer.size() - 64});
  }
  HierarchicalAllocator planned(Span<Span<uint8_t>>(spans.data(), spans.size()));
  testing::FailingAllocator method_memory(structures), temporary(scratch);
  std::vector<Bytes> memory, memory_again, results;
  failing_memory.calls = 0;
  failing_memory.failing_call = failing_call;
  RL_ASSIGN(Method method, Method::load(program, name, {&method_memory, &planned, &temporary}, environment()));
  testing::InputBytes inputs_again = inputs;
  RL_TRY(testing::set_hostile_inputs(method, inputs, &memory));
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    if (!method.output_needs_memory(i)) continue;
    results.emplace_back(1 << 16);
    RL_TRY(method.set_output_data_ptr(i, results.back().data(), results.back().size()));
  }
  const Error error = method.execute();
  if (failing_call < 0 || error == Error::Ok) return error;
  failing_memory.failing_call = -1;
  Error again = testing::set_hostile_inputs(method, inputs_again, &memory_again);
  if (again == Error::Ok) again = method.execute();
  failing_memory.failing_call = failing_call;
  if (again != Error::Ok)
    report("the next call of the method ends with %s: %s", to_string(again), last_error_message());
  return fail(error, "the call failed");
}

// Returns whether the program can be used.
Error load(const uint8_t* data, size_t size, long failing_call) {
  failing_memory.calls = 0;
  failing_memory.failing_call = failing_call;
  return LoadedProgram::from_buffer(data, size).error();
}

void check(Error error, long live) {
  if (error != Error::Ok && !testing::is_error_of_memory(error)) {
    report("the error is %s: %s", to_string(error), last_error_message());
  }
  if (failing_memory.live != live) report("%ld allocations were not freed", failing_memory.live - live);
  ++counts.failures;
}

void run(const uint8_t* data, size_t size) {
  testing::fail_memory_of_platform();
  const long before = failing_memory.live;
  if (load(data, size, -1) != Error::Ok) return;
  const long of_loading = failing_memory.calls;
  for (long n = 0; n < of_loading; ++n) check(load(data, size, n), before);
  failing_memory.failing_call = -1;
  const auto loaded = LoadedProgram::from_buffer(data, size);
  if (!loaded.ok()) report("the next load ends with %s", to_string(loaded.error()));
  const Program& program = (*loaded)->program();
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const auto name = program.method_name(i);
    const testing::InputBytes inputs(data, size);
    const long live = failing_memory.live;
    if (!name.ok() || attempt(program, *name, inputs, -1) != Error::Ok) continue;
    const long calls = failing_memory.calls, step = calls / kMaxFailures + 1;
    for (long n = static_cast<long>(size) % step; n < calls; n += step) check(attempt(program, *name, inputs, n), live);
    failing_memory.failing_call = -1;
    if (attempt(program, *name, inputs, -1) != Error::Ok) report("the next load does not run");
    ++counts.programs;
  }
}

}  // namespace
}  // namespace rushlight

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rushlight::run(data, size);
  return 0;
}

FUZZ_FORMAT(Program)
