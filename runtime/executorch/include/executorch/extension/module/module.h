#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "executorch/runtime/backend/backend_options_map.h"
#include "executorch/runtime/core/evalue.h"
#include "executorch/runtime/core/event_tracer.h"
#include "executorch/runtime/executor/program.h"

namespace executorch {
namespace extension {

using runtime::Kernel;
using runtime::LoadBackendOptionsMap;
using runtime::Method;
using runtime::MethodMeta;
using runtime::NamedDataMap;
using runtime::Program;

namespace module {

// A program whose methods are loaded at their first use. One thread uses a module at a time.
class Module {
 public:
  enum class LoadMode {
    File,                      // the file is read into memory
    Mmap,                      // the file is mapped
    MmapUseMlock,              // the file is mapped, and its pages stay in memory; the load fails if they cannot
    MmapUseMlockIgnoreErrors,  // as MmapUseMlock if the system allows it, else as Mmap
    MmapUseMadvise,            // the file is mapped and read ahead
  };

  // Uses a program file, and optionally .ptd files. The module becomes the owner of the tracer and of the allocators of
  // its methods (null: the module makes them). With `share_memory_arenas`, all methods use the same planned memory.
  explicit Module(const std::string& file_path, const LoadMode load_mode = LoadMode::File,
                  std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr, bool share_memory_arenas = false);
  explicit Module(const std::string& file_path, const std::string& data_map_path,
                  const LoadMode load_mode = LoadMode::File,
                  std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr, bool share_memory_arenas = false);
  explicit Module(const std::string& file_path, std::vector<std::string> data_files,
                  const LoadMode load_mode = LoadMode::File,
                  std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr, bool share_memory_arenas = false);
  // Uses a program that `data_loader` reads, or a program that is loaded already.
  explicit Module(std::unique_ptr<runtime::DataLoader> data_loader,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                  std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr, bool share_memory_arenas = false);
  explicit Module(std::shared_ptr<Program> program,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                  std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr, bool share_memory_arenas = false);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module();

  // Loads the program if it is not loaded. The functions below do this too. The module copies the options, and uses
  // them for all methods that are loaded later.
  ET_NODISCARD virtual runtime::Error load(const Program::Verification verification = Program::Verification::Minimal);
  ET_NODISCARD virtual runtime::Error load(const LoadBackendOptionsMap& backend_options,
                                           const Program::Verification verification = Program::Verification::Minimal);
  const LoadBackendOptionsMap& backend_options() const { return backend_options_map_; }
  virtual bool is_loaded() const { return program_ != nullptr; }
  // Returns the program, or null before it is loaded. It may be used by other modules after this one is destroyed.
  std::shared_ptr<Program> program() const { return program_; }

  runtime::Result<size_t> num_methods();
  runtime::Result<std::unordered_set<std::string>> method_names();
  runtime::Result<MethodMeta> method_meta(const std::string& method_name);

  // Loads a method if it is not loaded, with its own planned memory, tracer, backend options and kernels.
  ET_NODISCARD runtime::Error load_method(const std::string& method_name,
                                          runtime::HierarchicalAllocator* planned_memory = nullptr,
                                          runtime::EventTracer* event_tracer = nullptr,
                                          const LoadBackendOptionsMap* backend_options = nullptr,
                                          std::vector<Kernel> kernel_registry = {});
  ET_DEPRECATED ET_NODISCARD runtime::Error load_method(const std::string& method_name,
                                                        runtime::EventTracer* event_tracer) {
    return load_method(method_name, nullptr, event_tracer);
  }
  ET_NODISCARD runtime::Error load_forward(runtime::HierarchicalAllocator* planned_memory = nullptr,
                                           runtime::EventTracer* event_tracer = nullptr,
                                           const LoadBackendOptionsMap* backend_options = nullptr,
                                           std::vector<Kernel> kernel_registry = {}) {
    return load_method("forward", planned_memory, event_tracer, backend_options, std::move(kernel_registry));
  }
  ET_DEPRECATED ET_NODISCARD runtime::Error load_forward(runtime::EventTracer* event_tracer) {
    return load_forward(nullptr, event_tracer);
  }
  // Frees a method. Returns whether it was loaded.
  bool unload_method(const std::string& method_name) { return methods_.erase(method_name) != 0; }
  bool unload_forward() { return unload_method("forward"); }
  bool is_method_loaded(const std::string& method_name) const { return methods_.count(method_name) != 0; }
  // Returns a method. The first call loads it. The module owns it.
  ET_NODISCARD runtime::Result<Method*> method(const std::string& method_name);

  // Executes a method with the given first inputs. The other inputs keep their values from set_input() or the last
  // execution. The outputs are valid until the next execution of the method.
  ET_NODISCARD virtual runtime::Result<std::vector<runtime::EValue>> execute(
      const std::string& method_name, const std::vector<runtime::EValue>& input_values);
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> execute(const std::string& method_name,
                                                                     const runtime::EValue& input_value) {
    return execute(method_name, std::vector<runtime::EValue>{input_value});
  }
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> execute(const std::string& method_name) {
    return execute(method_name, std::vector<runtime::EValue>{});
  }
  // Does the same and returns the first output.
  ET_NODISCARD runtime::Result<runtime::EValue> get(const std::string& method_name,
                                                    const std::vector<runtime::EValue>& input_values);
  ET_NODISCARD runtime::Result<runtime::EValue> get(const std::string& method_name,
                                                    const runtime::EValue& input_value) {
    return get(method_name, std::vector<runtime::EValue>{input_value});
  }
  ET_NODISCARD runtime::Result<runtime::EValue> get(const std::string& method_name) {
    return get(method_name, std::vector<runtime::EValue>{});
  }
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> forward(const std::vector<runtime::EValue>& input_values) {
    return execute("forward", input_values);
  }
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> forward(const runtime::EValue& input_value) {
    return forward(std::vector<runtime::EValue>{input_value});
  }
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> forward() {
    return forward(std::vector<runtime::EValue>{});
  }

  // Set inputs for all following executions.
  ET_NODISCARD runtime::Error set_input(const std::string& method_name, const runtime::EValue& input_value,
                                        size_t input_index);
  ET_NODISCARD runtime::Error set_input(const runtime::EValue& input_value, size_t input_index) {
    return set_input("forward", input_value, input_index);
  }
  ET_NODISCARD runtime::Error set_inputs(const std::string& method_name,
                                         const std::vector<runtime::EValue>& input_values);
  ET_NODISCARD runtime::Error set_inputs(const std::vector<runtime::EValue>& input_values) {
    return set_inputs("forward", input_values);
  }
  // Set the memory of outputs without planned memory: tensors over memory of the caller.
  ET_NODISCARD runtime::Error set_output(const std::string& method_name, runtime::EValue output_value,
                                         size_t output_index = 0);
  ET_NODISCARD runtime::Error set_output(runtime::EValue output_value, size_t output_index = 0) {
    return set_output("forward", output_value, output_index);
  }
  ET_NODISCARD runtime::Error set_outputs(const std::string& method_name,
                                          const std::vector<runtime::EValue>& output_values);
  ET_NODISCARD runtime::Error set_outputs(const std::vector<runtime::EValue>& output_values) {
    return set_outputs("forward", output_values);
  }
  // Return the outputs of the last execution.
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> get_outputs(const std::string& method_name);
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> get_outputs() { return get_outputs("forward"); }
  ET_NODISCARD runtime::Result<runtime::EValue> get_output(const std::string& method_name, size_t output_index = 0);
  ET_NODISCARD runtime::Result<runtime::EValue> get_output(size_t output_index = 0) {
    return get_output("forward", output_index);
  }

  runtime::EventTracer* event_tracer() const { return event_tracer_.get(); }

 protected:
  struct MethodHolder;
  std::unordered_map<std::string, std::shared_ptr<MethodHolder>> methods_;

 private:
  runtime::Error load_data_maps();
  runtime::Error share_arenas();
  std::string file_path_;
  std::vector<std::string> data_files_;
  LoadMode load_mode_ = LoadMode::File;
  std::shared_ptr<runtime::DataLoader> data_loader_;
  std::vector<std::unique_ptr<runtime::DataLoader>> data_map_loaders_;
  std::vector<std::unique_ptr<NamedDataMap>> named_data_maps_;
  std::unique_ptr<NamedDataMap> merged_data_map_;
  std::shared_ptr<Program> program_;
  std::unique_ptr<runtime::MemoryAllocator> memory_allocator_;
  std::unique_ptr<runtime::MemoryAllocator> temp_allocator_;
  std::unique_ptr<runtime::EventTracer> event_tracer_;
  std::vector<std::vector<runtime::BackendOption>> backend_options_storage_;
  LoadBackendOptionsMap backend_options_map_;
  bool share_memory_arenas_ = false;
  std::vector<std::vector<uint8_t>> shared_arenas_;
};

}  // namespace module

using module::Module;

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::extension::Module;
}  // namespace executor
}  // namespace torch
