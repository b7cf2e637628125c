#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "executorch/runtime/backend/backend_options_map.h"
#include "executorch/runtime/core/data_loader.h"
#include "executorch/runtime/core/event_tracer.h"
#include "executorch/runtime/core/freeable_buffer.h"
#include "executorch/runtime/core/named_data_map.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/executor/memory_manager.h"
#include "executorch/runtime/executor/method.h"
#include "executorch/runtime/executor/method_meta.h"
#include "executorch/runtime/kernel/operator_registry.h"
#include "rushlight/program/program.h"

namespace rushlight {
class LoadedProgram;
}  // namespace rushlight

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace internal {

// The data that a program stores by name.
class ProgramDataMap final : public NamedDataMap {
 public:
  explicit ProgramDataMap(const ::rushlight::Program* program) : program_(program) {}
  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override;
  Result<FreeableBuffer> get_data(std::string_view key) const override { return program_->load_named_data(key); }
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override;
  Result<uint32_t> get_num_keys() const override { return static_cast<uint32_t>(program_->num_named_data()); }
  Result<const char*> get_key(uint32_t index) const override;

 private:
  const ::rushlight::Program* program_;
};

}  // namespace internal

// A validated program. Its methods use the registered kernels and backends.
class Program final {
 public:
  // Both levels validate the whole program.
  enum class Verification : uint8_t { Minimal, InternalConsistency };

  // Reads and validates a program. `loader` must outlive the program.
  ET_NODISCARD static Result<Program> load(DataLoader* loader, Verification verification = Verification::Minimal);
  ET_DEPRECATED ET_NODISCARD static Result<Program> Load(DataLoader* loader,
                                                         Verification verification = Verification::Minimal) {
    return load(loader, verification);
  }
  Program(Program&&) noexcept;
  Program& operator=(Program&&) = delete;
  ~Program();

  size_t num_methods() const;
  Result<const char*> get_method_name(size_t method_index) const;
  Result<MethodMeta> method_meta(const char* method_name) const;
  // Loads a method. The memories, the tracer and the map must outlive the method. Kernels of `kernel_registry` have
  // priority over registered kernels. Errors: InvalidState if the method plans tensors and `memory_manager` has no
  // planned memory.
  Result<Method> load_method(const char* method_name, MemoryManager* memory_manager,
                             EventTracer* event_tracer = nullptr, const NamedDataMap* named_data_map = nullptr,
                             const LoadBackendOptionsMap* backend_options = nullptr,
                             Span<const Kernel> kernel_registry = {}) const;
  // Returns the data that the program stores by name, or NotFound if there are none.
  Result<const NamedDataMap*> get_named_data_map() const;
  // Returns the structure of the outputs as JSON text of torch.utils._pytree, or "".
  ET_DEPRECATED Result<const char*> get_output_flattening_encoding(const char* method_name = "forward") const;

  enum HeaderStatus { CompatibleVersion, IncompatibleVersion, NotPresent, ShortData };
  // The bytes at the beginning of a file that check_header() needs.
  static constexpr size_t kMinHeadBytes = 64;
  // Returns whether a file with these first bytes is a program.
  static HeaderStatus check_header(const void* data, size_t size);

  // Does the same as load_method(). Planned memory is allocated if the MemoryManager has none.
  Result<Method> load_method_with_memory(const char* method_name, MemoryManager* memory_manager,
                                         EventTracer* event_tracer, const NamedDataMap* named_data_map,
                                         const LoadBackendOptionsMap* backend_options,
                                         Span<const Kernel> kernel_registry) const;

  const std::shared_ptr<::rushlight::LoadedProgram>& native() const { return native_; }

 private:
  explicit Program(std::shared_ptr<::rushlight::LoadedProgram> native);
  std::shared_ptr<::rushlight::LoadedProgram> native_;
  std::unique_ptr<internal::ProgramDataMap> data_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Program;
}  // namespace executor
}  // namespace torch
