// A minimal application for a device without an operating system: it loads `forward` of its first embedded program,
// runs it and keeps the outputs. `rushlight select --embed` writes the program as an array. The target
// Rushlight::device adds the startup code of the processor. main() returns 0, or 1 after an error.
#include "device/environment.h"
#include "device/programs.h"
#include "rushlight/core/memory.h"
#include "rushlight/exec/method.h"
#include "rushlight/program/buffer_loader.h"
#include "rushlight/program/program.h"

namespace {

// Memory for activations, for the structures of the method, and for the scratch memory of kernels.
alignas(16) uint8_t planned_memory[16 * 1024];
alignas(16) uint8_t method_memory[16 * 1024];
alignas(16) uint8_t temporary_memory[32 * 1024];

rushlight::Error run_forward() {
  const rushlight::device::EmbeddedProgram& embedded = rushlight::device::embedded_programs()[0];
  rushlight::BufferDataLoader loader(embedded.data, embedded.size);
  auto program = rushlight::Program::load(&loader);
  if (!program.ok()) return program.error();

  rushlight::Span<uint8_t> planned[] = {{planned_memory, sizeof(planned_memory)}};
  rushlight::HierarchicalAllocator activations(planned);
  rushlight::BufferAllocator structures(method_memory, sizeof(method_memory));
  rushlight::BufferAllocator scratch(temporary_memory, sizeof(temporary_memory));
  auto method = rushlight::Method::load(*program, "forward", {&structures, &activations, &scratch},
                                        rushlight::device::environment());
  if (!method.ok()) return method.error();

  // The input is in planned memory. A real application writes the values of a sensor there.
  const rushlight::Tensor input = method->get_input(0).to_tensor();
  float* elements = input.mutable_data_ptr<float>();
  for (int64_t i = 0; i < input.numel(); ++i) elements[i] = 1;
  return method->execute();
}

}  // namespace

int main() { return run_forward() == rushlight::Error::Ok ? 0 : 1; }
