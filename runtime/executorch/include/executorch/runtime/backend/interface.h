#pragma once

#include <cstddef>
#include <cstdint>

#include "executorch/runtime/backend/backend_execution_context.h"
#include "executorch/runtime/backend/backend_init_context.h"
#include "executorch/runtime/backend/backend_option_context.h"
#include "executorch/runtime/backend/options.h"
#include "executorch/runtime/core/array_ref.h"
#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/evalue.h"
#include "executorch/runtime/core/freeable_buffer.h"
#include "executorch/runtime/core/memory_allocator.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/platform/compiler.h"

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

struct SizedBuffer {
  void* buffer;
  size_t nbytes;
};

// An option that the partitioner gave the backend when the program was compiled.
struct CompileSpec {
  const char* key;
  SizedBuffer value;
};

// The state of one loaded delegate. The backend chooses the type of the state and owns it.
using DelegateHandle = void;

// The run-time part of a backend. One object serves all methods of the process. One thread uses a handle at a time.
class BackendInterface {
 public:
  virtual ~BackendInterface() = 0;

  // Returns whether this machine can run the backend.
  ET_NODISCARD virtual bool is_available() const = 0;
  // Loads a delegate from the bytes that the backend's compiler made. Returns a handle, which destroy() receives later.
  ET_NODISCARD virtual Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                                                    ArrayRef<CompileSpec> compile_specs) const = 0;
  // Executes a delegate. `args` are its inputs, then its outputs.
  ET_NODISCARD virtual Error execute(BackendExecutionContext& context, DelegateHandle* handle,
                                     Span<EValue*> args) const = 0;
  // set_option() sets options for all methods that are loaded later. get_option() reads options into the values of
  // `backend_options`.
  ET_NODISCARD virtual Error set_option(ET_UNUSED BackendOptionContext& context,
                                        ET_UNUSED const Span<BackendOption>& backend_options) {
    return Error::Ok;
  }
  ET_NODISCARD virtual Error get_option(ET_UNUSED BackendOptionContext& context,
                                        ET_UNUSED Span<BackendOption>& backend_options) {
    return Error::Ok;
  }
  virtual void destroy(ET_UNUSED DelegateHandle* handle) const {}
};

// A backend and its name in program files.
struct Backend {
  const char* name;
  BackendInterface* backend;
};

// Registers a backend for all methods that are loaded later. The backend must live as long as the process. Returns
// InvalidArgument if the name is registered already.
ET_NODISCARD Error register_backend(const Backend& backend);
// Returns a backend that the application registered, or null. Backends of the runtime do not have this class.
BackendInterface* get_backend_class(const char* name);
// Return the number of registered backends (including the runtime's), and their names.
size_t get_num_registered_backends();
Result<const char*> get_backend_name(size_t index);
// Set and read options of a registered backend. Return NotFound if no backend has this name.
Error set_option(const char* backend_name, const Span<BackendOption> backend_options);
Error get_option(const char* backend_name, Span<BackendOption> backend_options);

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using PyTorchBackendInterface = ::executorch::ET_RUNTIME_NAMESPACE::BackendInterface;
}  // namespace executor
}  // namespace torch

namespace torch {
namespace executor {
using ::executorch::runtime::Backend;
using ::executorch::runtime::CompileSpec;
using ::executorch::runtime::DelegateHandle;
using ::executorch::runtime::get_backend_class;
using ::executorch::runtime::register_backend;
using ::executorch::runtime::SizedBuffer;
}  // namespace executor
}  // namespace torch
