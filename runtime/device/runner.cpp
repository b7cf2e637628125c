// Runs the embedded programs, each with its test cases or with inputs of ones, and prints the bits of the outputs. It
// uses no heap, files, threads or stdio.
#include <cstdarg>
#include <cstring>

#include "device/console.h"
#include "device/environment.h"
#include "device/programs.h"
#include "platform/format.h"
#include "rushlight/exec/bundled_test.h"
#include "rushlight/exec/method.h"
#include "rushlight/program/buffer_loader.h"
#include "rushlight/program/bundled_program.h"
#include "rushlight/program/program.h"

// The bytes of each memory. A project defines these macros for its programs and its board.
#if !defined(RUSHLIGHT_ARENA_BYTES)
#define RUSHLIGHT_ARENA_BYTES (64 * 1024)
#endif
#if !defined(RUSHLIGHT_STRUCTURE_BYTES)
#if defined(RUSHLIGHT_HAS_BACKEND_CPU)
#define RUSHLIGHT_STRUCTURE_BYTES \
  (4 * 1024 * 1024)  // plans of CpuBackend have their intermediate results in this memory
#else
#define RUSHLIGHT_STRUCTURE_BYTES (32 * 1024)
#endif
#endif
#if !defined(RUSHLIGHT_SCRATCH_BYTES)
#define RUSHLIGHT_SCRATCH_BYTES (32 * 1024)
#endif

namespace rushlight::device {
namespace {

alignas(64) uint8_t arena[RUSHLIGHT_ARENA_BYTES];
#if defined(RUSHLIGHT_SECOND_ARENA_BYTES)
// The planned memories from number 2 on. The linker script may place this section outside of the arena's memory.
#if defined(__ELF__)
__attribute__((section(".bss.second_arena")))
#endif
alignas(64) uint8_t second_arena[RUSHLIGHT_SECOND_ARENA_BYTES];
#endif
alignas(64) uint8_t structures[RUSHLIGHT_STRUCTURE_BYTES];
alignas(64) uint8_t scratch[RUSHLIGHT_SCRATCH_BYTES];

constexpr size_t kMaxArenas = 4;
constexpr size_t kLineBytes = 160;

// Prints a line in printf format.
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void show(const char* format, ...) {
  char line[kLineBytes];
  va_list arguments;
  va_start(arguments, format);
  format_list(line, sizeof(line), format, arguments);
  va_end(arguments);
  rushlight_write(line);
}

// Prints the elements of a tensor in memory order, each as the hexadecimal digits of its bits.
void show_bits(const Tensor& tensor) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.const_data_ptr());
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    uint64_t bits = 0;
    const size_t size = tensor.element_size() < sizeof(bits) ? tensor.element_size() : sizeof(bits);
    std::memcpy(&bits, bytes + static_cast<size_t>(i) * tensor.element_size(), size);
    show(" %0*llx", static_cast<int>(2 * size), static_cast<unsigned long long>(bits));
  }
}

void show_outputs(const Method& method) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const EValue& value = method.get_output(i);
    if (value.tag != Tag::Tensor) continue;
    show("output %zu: %s", i, dtype_name(value.to_tensor().scalar_type()));
    show_bits(value.to_tensor());
    show("\n");
  }
}

// Allocates memory for inputs and outputs without planned memory.
Error place_values(Method& method, MemoryAllocator& memory) {
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    if (!method.input_needs_memory(i)) continue;
    Tensor tensor = method.get_input(i).to_tensor();
    void* place = memory.allocate(tensor.nbytes(), 16);
    RL_REQUIRE(place, MemoryAllocationFailed, "no memory for the %zu bytes of input %zu", tensor.nbytes(), i);
    tensor.impl()->data = place;
    RL_TRY(method.set_input(i, EValue(tensor.impl())));
  }
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    if (!method.output_needs_memory(i)) continue;
    RL_ASSIGN(const TensorInfo info, method.meta().output_tensor_meta(i));
    void* place = memory.allocate(info.nbytes, 16);
    RL_REQUIRE(place, MemoryAllocationFailed, "no memory for the %zu bytes of output %zu", info.nbytes, i);
    RL_TRY(method.set_output_data_ptr(i, place, info.nbytes));
  }
  return Error::Ok;
}

// Sets the elements of float32 inputs to 1, and the bytes of other inputs to 0.
void fill_inputs(const Method& method) {
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    if (method.get_input(i).tag != Tag::Tensor) continue;
    Tensor tensor = method.get_input(i).to_tensor();
    std::memset(tensor.mutable_data_ptr(), 0, tensor.nbytes());
    if (tensor.scalar_type() != ScalarType::Float) continue;
    for (int64_t j = 0; j < tensor.numel(); ++j) tensor.mutable_data_ptr<float>()[j] = 1;
  }
}

#if defined(RUSHLIGHT_TEST_CASES)
Error run_tests(Method& method, const BundledProgram& bundle) {
  RL_ASSIGN(const size_t count, bundle.num_test_cases(method.meta().name()));
  for (size_t test = 0; test < count; ++test) {
    RL_TRY(load_bundled_input(method, bundle, test));
    RL_TRY(method.execute());
    show("test case %zu\n", test);
    show_outputs(method);
  }
  return Error::Ok;
}
#else
Error run_tests(Method& method, const BundledProgram&) { return method.execute(); }
#endif

// A block of memory from which planned memories are allocated one after the other.
struct Arena {
  uint8_t* bytes;
  size_t size;
  const char* option;  // the build option that sets its size
  size_t used = 0;
};

Error run_method(const Program& program, const char* name, const BundledProgram* bundle) {
  RL_ASSIGN(const MethodMeta meta, program.method_meta(name));
  Span<uint8_t> memories[kMaxArenas];
  Arena first{arena, sizeof(arena), "RUSHLIGHT_ARENA_BYTES"};
#if defined(RUSHLIGHT_SECOND_ARENA_BYTES)
  Arena second{second_arena, sizeof(second_arena), "RUSHLIGHT_SECOND_ARENA_BYTES"};
#else
  Arena& second = first;
#endif
  const size_t count = meta.num_memory_planned_buffers();
  RL_REQUIRE(count <= kMaxArenas, NotSupported,
             "the method has %zu planned memories, but the runner supports at most %zu", count, kMaxArenas);
  for (size_t i = 0; i < count; ++i) {
    RL_ASSIGN(const size_t bytes, meta.memory_planned_buffer_size(i));
    Arena& from = i == 0 ? first : second;
    RL_REQUIRE(bytes <= from.size - from.used, MemoryAllocationFailed,
               "the block for planned memory %zu has %zu bytes, but method '%.80s' needs more: increase %s", i + 1,
               from.size, name, from.option);
    memories[i] = {from.bytes + from.used, bytes};
    from.used += bytes;
    from.used = from.size - from.used < 64 ? from.size : (from.used + 63) / 64 * 64;
  }
#if defined(RUSHLIGHT_SECOND_ARENA_BYTES)
  const size_t used = first.used + second.used;
#else
  const size_t used = first.used;
#endif
  HierarchicalAllocator planned({memories, count});
  BufferAllocator own(structures, sizeof(structures));
  BufferAllocator temporary(scratch, sizeof(scratch));
  RL_ASSIGN(Method method, Method::load(program, name, {&own, &planned, &temporary}, environment()));
  RL_TRY(place_values(method, own));
  show("method %s: %zu bytes planned, %zu of structures\n", name, used, own.used());
  if (bundle) return run_tests(method, *bundle);
  fill_inputs(method);
  RL_TRY(method.execute());
  show_outputs(method);
  return Error::Ok;
}

Error run_methods(Span<const uint8_t> bytes, const BundledProgram* bundle) {
  BufferDataLoader loader(bytes.data(), bytes.size());
  RL_ASSIGN(const Program program, Program::load(&loader));
  for (size_t i = 0; i < program.num_methods(); ++i) {
    RL_ASSIGN(const std::string_view name, program.method_name(i));
    RL_TRY(run_method(program, name.data(), bundle));
  }
  return Error::Ok;
}

#if defined(RUSHLIGHT_TEST_CASES)
Error run_program(const EmbeddedProgram& embedded) {
  if (!is_bundled_program(embedded.data, embedded.size)) return run_methods({embedded.data, embedded.size}, nullptr);
  RL_ASSIGN(const BundledProgram bundle, BundledProgram::load(embedded.data, embedded.size));
  return run_methods(bundle.program_data(), &bundle);
}
#else
Error run_program(const EmbeddedProgram& embedded) { return run_methods({embedded.data, embedded.size}, nullptr); }
#endif

int run_all() {
  for (const EmbeddedProgram& embedded : embedded_programs()) {
    show("program %s\n", embedded.name);
    const Error error = run_program(embedded);
    if (error == Error::Ok) continue;
    show("%s: ", to_string(error));
    rushlight_write(last_error_message());
    rushlight_write("\n");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace rushlight::device

int main() { return rushlight::device::run_all(); }
