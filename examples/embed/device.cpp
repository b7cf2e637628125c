// device < FILE.pte: runs `forward` of a program without a heap, as on a device. The program is an array in memory, and
// the method uses three other arrays. Prints the first output and the used bytes of the arrays.

#include <cstdio>

#include "rushlight/core/memory.h"
#include "rushlight/exec/method.h"
#include "rushlight/kernels/portable.h"
#include "rushlight/program/buffer_loader.h"
#include "rushlight/program/program.h"

// On a device, the program is in flash.
alignas(16) static unsigned char program_bytes[1 << 20];
// Memory for the structures of the method, for activations, and for the scratch memory of kernels.
alignas(16) static unsigned char method_memory[64 << 10];
alignas(16) static unsigned char planned_memory[256 << 10];
alignas(16) static unsigned char temporary_memory[64 << 10];
alignas(16) static float input_elements[16 << 10];

static int failed() {
  std::fprintf(stderr, "%s\n", rushlight::last_error_message());
  return 1;
}

int main() {
  const size_t size = std::fread(program_bytes, 1, sizeof(program_bytes), stdin);
  rushlight::BufferDataLoader loader(program_bytes, size);
  auto program = rushlight::Program::load(&loader);
  if (!program.ok()) return failed();

  auto meta = program->method_meta("forward");
  if (!meta.ok()) return failed();
  rushlight::Span<uint8_t> planned[4];
  size_t used = 0;
  const size_t arenas = meta->num_memory_planned_buffers();
  for (size_t i = 0; i < arenas && i < 4; ++i) {
    const size_t bytes = *meta->memory_planned_buffer_size(i);
    if (bytes > sizeof(planned_memory) - used) {
      std::fprintf(stderr, "the program needs more than %zu bytes of planned memory\n", sizeof(planned_memory));
      return 1;
    }
    planned[i] = {planned_memory + used, bytes};
    used += (bytes + 15) / 16 * 16;
  }
  rushlight::HierarchicalAllocator activations({planned, arenas});
  rushlight::BufferAllocator structures(method_memory, sizeof(method_memory));
  rushlight::BufferAllocator scratch(temporary_memory, sizeof(temporary_memory));
  const rushlight::MemoryManager memory{&structures, &activations, &scratch};

  const rushlight::KernelTable kernels[] = {rushlight::portable_kernels()};
  rushlight::Environment environment;
  environment.kernels = kernels;
  auto method = rushlight::Method::load(*program, "forward", memory, environment);
  if (!method.ok()) return failed();

  // The method already has an input tensor with the right shape. Only its elements must be set.
  rushlight::TensorImpl input = *method->get_input(0).to_tensor().impl();
  if (static_cast<size_t>(input.numel) > sizeof(input_elements) / sizeof(float)) return 1;
  for (int64_t i = 0; i < input.numel; ++i) input_elements[i] = 1.0f;
  input.data = input_elements;
  if (method->set_input(0, rushlight::EValue(&input)) != rushlight::Error::Ok) return failed();
  if (method->execute() != rushlight::Error::Ok) return failed();

  const rushlight::Tensor output = method->get_output(0).to_tensor();
  for (int64_t i = 0; i < output.numel(); ++i) {
    std::printf("%g\n", static_cast<double>(output.const_data_ptr<float>()[i]));
  }
  std::fprintf(stderr, "%zu bytes of structures, %zu of activations\n", structures.used(), used);
  return 0;
}
