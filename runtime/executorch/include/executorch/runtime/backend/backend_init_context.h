#pragma once

#include <array>
#include <cstring>
#include <type_traits>
#include <variant>

#include "executorch/runtime/backend/options.h"
#include "executorch/runtime/core/event_tracer.h"
#include "executorch/runtime/core/memory_allocator.h"
#include "executorch/runtime/core/named_data_map.h"
#include "executorch/runtime/core/result.h"

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

// The resources of a backend while it loads a delegate. The context is valid during init() only.
class BackendInitContext final {
 public:
  explicit BackendInitContext(MemoryAllocator* runtime_allocator, EventTracer* event_tracer = nullptr,
                              const char* method_name = nullptr, const NamedDataMap* named_data_map = nullptr,
                              Span<const BackendOption> runtime_specs = {})
      : runtime_allocator_(runtime_allocator),
        event_tracer_(event_tracer),
        method_name_(method_name),
        named_data_map_(named_data_map),
        runtime_specs_(runtime_specs) {}
  // Returns the allocator for memory that lives as long as the method.
  MemoryAllocator* get_runtime_allocator() { return runtime_allocator_; }
  EventTracer* event_tracer() { return event_tracer_; }
  const char* get_method_name() const { return method_name_; }
  const NamedDataMap* get_named_data_map() const { return named_data_map_; }
  Span<const BackendOption> runtime_specs() const { return runtime_specs_; }
  // Returns an option of the method; T is bool, int or const char*. Returns NotFound for an unknown option, and
  // InvalidArgument if the option has another type.
  template <typename T>
  Result<T> get_runtime_spec(const char* key) const {
    static_assert(std::is_same_v<T, bool> || std::is_same_v<T, int> || std::is_same_v<T, const char*>,
                  "an option is a bool, an int or a text");
    for (const BackendOption& option : runtime_specs_) {
      if (std::strcmp(option.key, key) != 0) continue;
      if constexpr (std::is_same_v<T, const char*>) {
        const auto* text = std::get_if<std::array<char, kMaxOptionValueLength>>(&option.value);
        if (text) return text->data();
      } else {
        const T* value = std::get_if<T>(&option.value);
        if (value) return *value;
      }
      return Error::InvalidArgument;
    }
    return Error::NotFound;
  }

 private:
  MemoryAllocator* runtime_allocator_;
  EventTracer* event_tracer_;
  const char* method_name_;
  const NamedDataMap* named_data_map_;
  Span<const BackendOption> runtime_specs_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::BackendInitContext;
}  // namespace executor
}  // namespace torch
