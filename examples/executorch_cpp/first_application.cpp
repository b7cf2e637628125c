// Loads a program and runs its method "forward" with memory that the application owns: first_application MODEL
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::extension::FileDataLoader;
using executorch::extension::MallocMemoryAllocator;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace {

constexpr size_t kMethodBytes = 64 * 1024;
alignas(16) uint8_t method_pool[kMethodBytes];

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  ET_CHECK_MSG(argc == 2, "usage: first_application MODEL");

  Result<FileDataLoader> loader = FileDataLoader::from(argv[1]);
  ET_CHECK_MSG(loader.ok(), "%s cannot be opened", argv[1]);
  Result<Program> program = Program::load(&loader.get());
  ET_CHECK_MSG(program.ok(), "%s is not a program", argv[1]);

  const char* method_name = program->get_method_name(0).get();
  Result<MethodMeta> meta = program->method_meta(method_name);
  ET_CHECK(meta.ok());

  // The structures of the method are in a static array, and its planned memory is on the heap.
  MemoryAllocator method_allocator{MemoryAllocator(sizeof(method_pool), method_pool)};
  MallocMemoryAllocator temp_allocator;
  std::vector<std::unique_ptr<uint8_t[]>> buffers;
  std::vector<Span<uint8_t>> spans;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    const size_t size = static_cast<size_t>(meta->memory_planned_buffer_size(i).get());
    buffers.push_back(std::make_unique<uint8_t[]>(size));
    spans.push_back({buffers.back().get(), size});
  }
  HierarchicalAllocator planned_memory({spans.data(), spans.size()});
  MemoryManager memory_manager(&method_allocator, &planned_memory, &temp_allocator);

  Result<Method> method = program->load_method(method_name, &memory_manager);
  ET_CHECK_MSG(method.ok(), "the method cannot be loaded: 0x%x", static_cast<unsigned>(method.error()));

  float data[4] = {1, 2, 3, 4};
  TensorImpl::SizesType sizes[] = {2, 2};
  TensorImpl::DimOrderType dim_order[] = {0, 1};
  TensorImpl impl(ScalarType::Float, 2, sizes, data, dim_order);
  Tensor tensor(&impl);
  for (size_t i = 0; i < method->inputs_size(); ++i) {
    const Error error = method->set_input(EValue(tensor), i);
    ET_CHECK_MSG(error == Error::Ok, "input %zu is refused", i);
  }
  const Error status = method->execute();
  ET_CHECK_MSG(status == Error::Ok, "the method fails: 0x%x", static_cast<unsigned>(status));

  const EValue output = method->get_output(0);
  ET_CHECK(output.isTensor());
  const float* result = output.toTensor().const_data_ptr<float>();
  for (ssize_t i = 0; i < output.toTensor().numel(); ++i) std::printf("%g\n", result[i]);
  return 0;
}
