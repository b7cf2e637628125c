#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "executorch/extension/module/module.h"

namespace executorch {
namespace extension {
namespace bundled_module {

// A bundled program whose methods run on their test cases.
class BundledModule : public Module {
 public:
  // Uses a .bpte file in memory, aligned to 16. The caller owns the memory and keeps it valid.
  explicit BundledModule(const void* bundled_program_ptr,
                         std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                         std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                         std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                         std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr);
  // Reads a .bpte file into memory. Returns AccessFailed, or NotSupported if the file is not a bundled program.
  static runtime::Result<std::unique_ptr<BundledModule>> from_file(
      const std::string& file_path, std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
      std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
      std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr);
  ~BundledModule() override;

  using Module::execute;
  // Executes a method with the inputs of a test case.
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> execute(const std::string& method_name,
                                                                     const size_t testset_idx);
  // Compares the outputs of the last execution with the expected outputs of a test case.
  ET_NODISCARD runtime::Error verify_method_outputs(const std::string& method_name, const size_t testset_idx,
                                                    double rtol = 1e-5, double atol = 1e-8);

 private:
  runtime::FreeableBuffer file_;
  const void* bundled_program_ptr_;
};

}  // namespace bundled_module

using bundled_module::BundledModule;

}  // namespace extension
}  // namespace executorch
