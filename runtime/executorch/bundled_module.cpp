#include "executorch/extension/module/bundled_module.h"

#include <utility>

#include "executorch/devtools/bundled_program/bundled_program.h"
#include "executorch/extension/data_loader/buffer_data_loader.h"
#include "executorch/extension/data_loader/file_data_loader.h"

namespace executorch {
namespace extension {
namespace bundled_module {
namespace {

// The caller does not pass the size of the file. All offsets of the format are below this limit.
constexpr size_t kMaxSize = 0x7fffffff;

// Returns a loader of the embedded program, or a loader whose loads fail.
std::unique_ptr<runtime::DataLoader> loader_of(const void* bundled_program_ptr) {
  const void* program = nullptr;
  size_t size = 0;
  const runtime::Error error =
      bundled_program::get_program_data(const_cast<void*>(bundled_program_ptr), kMaxSize, &program, &size);
  if (error != runtime::Error::Ok) return std::make_unique<BufferDataLoader>(nullptr, size_t{0});
  return std::make_unique<BufferDataLoader>(program, size);
}

}  // namespace

BundledModule::BundledModule(const void* bundled_program_ptr,
                             std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
                             std::unique_ptr<runtime::MemoryAllocator> temp_allocator,
                             std::unique_ptr<runtime::EventTracer> event_tracer,
                             std::unique_ptr<runtime::DataLoader> data_map_loader)
    : Module(loader_of(bundled_program_ptr), std::move(memory_allocator), std::move(temp_allocator),
             std::move(event_tracer), std::move(data_map_loader)),
      bundled_program_ptr_(bundled_program_ptr) {}

BundledModule::~BundledModule() { methods_.clear(); }

runtime::Result<std::unique_ptr<BundledModule>> BundledModule::from_file(
    const std::string& file_path, std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
    std::unique_ptr<runtime::MemoryAllocator> temp_allocator, std::unique_ptr<runtime::EventTracer> event_tracer,
    std::unique_ptr<runtime::DataLoader> data_map_loader) {
  RL_ASSIGN(FileDataLoader loader, FileDataLoader::from(file_path.c_str()));
  RL_ASSIGN(const size_t size, loader.size());
  RL_ASSIGN(runtime::FreeableBuffer file, loader.load(0, size, runtime::DataLoader::SegmentInfo()));
  auto* data = const_cast<void*>(file.data());
  ET_CHECK_OR_RETURN_ERROR(bundled_program::is_bundled_program(data, size), NotSupported, "%s is not a bundled program",
                           file_path.c_str());
  auto module = std::make_unique<BundledModule>(data, std::move(memory_allocator), std::move(temp_allocator),
                                                std::move(event_tracer), std::move(data_map_loader));
  module->file_ = std::move(file);
  return module;
}

runtime::Result<std::vector<runtime::EValue>> BundledModule::execute(const std::string& method_name,
                                                                     const size_t testset_idx) {
  RL_ASSIGN(Method * loaded, method(method_name));
  RL_TRY(bundled_program::load_bundled_input(*loaded, const_cast<void*>(bundled_program_ptr_), testset_idx));
  RL_TRY(loaded->execute());
  return get_outputs(method_name);
}

runtime::Error BundledModule::verify_method_outputs(const std::string& method_name, const size_t testset_idx,
                                                    double rtol, double atol) {
  RL_ASSIGN(Method * loaded, method(method_name));
  return bundled_program::verify_method_outputs(*loaded, const_cast<void*>(bundled_program_ptr_), testset_idx, rtol,
                                                atol);
}

}  // namespace bundled_module
}  // namespace extension
}  // namespace executorch
