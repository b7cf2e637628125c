#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rushlight/core/data_loader.h"
#include "rushlight/core/evalue.h"
#include "rushlight/core/event_tracer.h"
#include "rushlight/core/memory.h"
#include "rushlight/core/named_data.h"
#include "rushlight/core/result.h"
#include "rushlight/core/thread_pool.h"

namespace rushlight {

// The state of one loaded delegate. The backend chooses the type of the state and owns it.
using DelegateHandle = void;

// An option that the partitioner gave the backend when the program was compiled. The members are views into the
// program.
struct CompileSpec {
  std::string_view key;
  Span<const uint8_t> value;
};

// An option that the application gives a backend at run time.
struct BackendOption {
  std::string_view key;
  EValue value;  // Int, Bool or String; the caller owns the characters of a string
};

// What a backend may use while it loads a delegate. The context is valid during init() only.
struct BackendInitContext {
  MemoryAllocator* allocator;  // its memory lives as long as the method
  ThreadPool* threads;         // may be null; outlives the method
  EventTracer* tracer;         // may be null; outlives the method
  std::string_view method_name;
  const NamedDataMap* named_data;     // data that the compiler stored by name
  Span<const BackendOption> options;  // the options of this method
};

// Identifies an operator inside a delegate by a key of the debug handle map, which the backend made when it compiled
// the delegate. The map gives the line of the user's Python code. At most one of the two members is set.
struct DelegateOperator {
  int64_t number = -1;
  std::string_view name;  // must stay valid after execute() returns, until the next call
};

// What a backend may use while it executes a delegate. The context is valid during execute() only.
struct BackendExecutionContext {
  MemoryAllocator* temporary;  // scratch memory until execute() returns; may be null
  ThreadPool* threads;         // may be null
  EventTracer* tracer;         // may be null
  EventId event;               // the event of this call, to which the backend may add its own events
  DelegateOperator failed;     // out: the operator that failed, if execute() returns an error

  // Returns the event of an operator inside the delegate, by its number or by its name.
  EventId operator_event(int64_t number, std::string_view name = {}) const {
    return {EventKind::DelegateOperator, event.chain, event.instruction, number, name};
  }
};

// The run-time part of a backend. One object serves all methods of the process. Methods may run on several threads at
// the same time, so an implementation keeps its state in the handle. Only one thread uses a handle at a time.
class BackendInterface {
 public:
  // Returns whether this machine can run the backend.
  virtual bool is_available() const = 0;
  // Loads a delegate. `processed` holds the bytes that the backend's compiler made; they may be damaged or malicious.
  // The backend may release them when it no longer needs them. Returns a handle, which destroy() receives later.
  virtual Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                                       Span<const CompileSpec> specs) = 0;
  // Executes a delegate. `arguments` are its inputs, then its outputs. The caller owns all of them.
  virtual Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue* const> arguments) = 0;
  // Sets the state that a delegate keeps between calls back to its contents after init(). `named_data` is the same map
  // as in init(). The default implementation is for backends without such state.
  virtual Error reset_state(DelegateHandle* handle, const NamedDataMap* named_data) {
    static_cast<void>(handle);
    static_cast<void>(named_data);
    return Error::Ok;
  }
  // Destroys a handle. Its memory from BackendInitContext::allocator is freed with the method.
  virtual void destroy(DelegateHandle* handle) = 0;
  // Sets an option for all methods that are loaded later. Returns NotSupported for an unknown option.
  virtual Error set_option(const BackendOption& option) {
    return fail(Error::NotSupported, "the backend has no option '%.*s'", static_cast<int>(option.key.size()),
                option.key.data());
  }
  // Returns the value of an option: the default, or the value of set_option(). The backend owns the characters of a
  // string. Returns NotSupported for an unknown option.
  virtual Result<EValue> get_option(std::string_view key) const {
    return fail(Error::NotSupported, "the backend has no option '%.*s'", static_cast<int>(key.size()), key.data());
  }

 protected:
  ~BackendInterface() = default;
};

// A row of a backend table. The table and its backends live as long as the process.
struct Backend {
  const char* id;  // the name in program files, such as "XnnpackBackend"
  BackendInterface* backend;
};

using BackendTable = Span<const Backend>;

// Returns the row with this id, or null.
const Backend* find_backend(BackendTable table, std::string_view id);

}  // namespace rushlight
