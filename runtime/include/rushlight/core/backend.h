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

// State of one lowered module, owned by its backend.
using DelegateHandle = void;

struct CompileSpec {
  std::string_view key;
  Span<const uint8_t> value;
};

struct BackendOption {
  std::string_view key;
  EValue value;  // Int, Bool or String
};

struct BackendInitContext {
  MemoryAllocator* allocator;  // lives as long as the method
  ThreadPool* threads;
  EventTracer* tracer;
  std::string_view method_name;
  const NamedDataMap* named_data;
  Span<const BackendOption> options;
};

// An operator inside a delegate: a key of the debug handle map that the backend's compiler gave, by which people find
// the line of their Python. One of the two, if any.
struct DelegateOperator {
  int64_t number = -1;
  std::string_view name;  // read when execute() has returned
};

struct BackendExecutionContext {
  MemoryAllocator* temporary;
  ThreadPool* threads;
  EventTracer* tracer;
  EventId event;
  DelegateOperator failed;  // what failed, set by a backend whose execute() returns an error
};

// The run-time part of a backend.
class BackendInterface {
 public:
  virtual bool is_available() const = 0;
  // `processed` may be released by the backend when it no longer needs the bytes.
  virtual Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                                       Span<const CompileSpec> specs) = 0;
  // `arguments`: the delegate's inputs, then its outputs.
  virtual Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue* const> arguments) = 0;
  virtual void destroy(DelegateHandle* handle) = 0;
  // An option of all methods that are loaded from then on; those of one method come with `init`.
  virtual Error set_option(const BackendOption& option) {
    return fail(Error::NotSupported, "the backend has no option '%.*s'", static_cast<int>(option.key.size()),
                option.key.data());
  }
  // What set_option was given, or the default. A string's characters are the backend's.
  virtual Result<EValue> get_option(std::string_view key) const {
    return fail(Error::NotSupported, "the backend has no option '%.*s'", static_cast<int>(key.size()), key.data());
  }

 protected:
  ~BackendInterface() = default;
};

struct Backend {
  const char* id;  // "XnnpackBackend"
  BackendInterface* backend;
};

using BackendTable = Span<const Backend>;

// The row of that id, or null.
const Backend* find_backend(BackendTable table, std::string_view id);

}  // namespace rushlight
