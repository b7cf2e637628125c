// Reads arbitrary bytes as a .bpte file, and runs its program on the test cases.

#include "rushlight/program/bundled_program.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "rushlight/exec/bundled_test.h"
#include "target.h"
#include "tests/support/run_hostile.h"

namespace rushlight {
namespace {

constexpr size_t kMaxTestCases = 8;

// Reads all values of a test case.
void read_values(const BundledProgram& bundle, std::string_view method, size_t test_case) {
  uint64_t sum = 0;
  const auto add = [&sum](const Result<BundledValue>& value) {
    if (!value.ok() || !value->is_tensor()) return;
    const uint8_t* bytes = static_cast<const uint8_t*>(value->data);
    for (size_t i = 0; i < value->layout.nbytes; ++i) sum += bytes[i];
  };
  const auto inputs = bundle.num_inputs(method, test_case);
  for (size_t i = 0; inputs.ok() && i < *inputs; ++i) add(bundle.input(method, test_case, i));
  const auto outputs = bundle.num_expected_outputs(method, test_case);
  for (size_t i = 0; outputs.ok() && i < *outputs; ++i) add(bundle.expected_output(method, test_case, i));
  volatile uint64_t kept = sum;
  static_cast<void>(kept);
}

void run_test_cases(const BundledProgram& bundle, std::string_view name, Method& method) {
  const auto count = bundle.num_test_cases(name);
  for (size_t test = 0; count.ok() && test < *count && test < kMaxTestCases; ++test) {
    read_values(bundle, name, test);
    if (load_bundled_input(method, bundle, test) != Error::Ok) continue;
    if (method.execute() == Error::Ok) static_cast<void>(verify_method_outputs(method, bundle, test));
  }
}

void run(const uint8_t* data, size_t size) {
  const auto bundle = BundledProgram::load(data, size);
  if (!bundle.ok()) return;
  const Span<const uint8_t> program = bundle->program_data();
  if (testing::run_hostile(program.data(), program.size()) != Error::Ok) return;
  const auto loaded = LoadedProgram::from_buffer(program.data(), program.size());
  Environment environment;
  environment.kernels = default_kernels();
  environment.backends = default_backends();
  environment.limits = testing::kHostileLimits;
  for (size_t i = 0; i < bundle->num_methods(); ++i) {
    const auto name = bundle->method_name(i);
    if (!name.ok()) continue;
    auto method = LoadedMethod::load(*loaded, *name, environment);
    if (!method.ok() || (*method)->allocate_outputs() != Error::Ok) continue;
    run_test_cases(*bundle, *name, (*method)->method());
  }
}

}  // namespace
}  // namespace rushlight

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A bundled program must be aligned to 16 bytes.
  struct alignas(16) Word {
    uint8_t bytes[16];
  };
  std::vector<Word> words(size / sizeof(Word) + 1);
  if (size > 0) std::memcpy(words.data(), data, size);
  rushlight::run(words.front().bytes, size);
  return 0;
}

FUZZ_FORMAT(BundledProgram)
