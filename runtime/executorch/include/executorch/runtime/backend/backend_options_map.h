#pragma once

#include <cstddef>
#include <cstring>

#include "executorch/runtime/backend/options.h"
#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/span.h"

namespace executorch {
namespace runtime {

// The options of backends for one method. The caller owns the options. They must outlive the load of the method.
class LoadBackendOptionsMap final {
 public:
  // Sets the options of a backend. Returns InvalidArgument if the name is empty or too long, or if the map is full.
  Error set_options(const char* backend_id, Span<BackendOption> options) {
    if (!backend_id || !*backend_id || std::strlen(backend_id) >= kMaxBackendIdLength) return Error::InvalidArgument;
    Entry* entry = const_cast<Entry*>(find(backend_id));
    if (!entry) {
      if (size_ == kMaxBackends) return Error::InvalidArgument;
      entry = &entries_[size_++];
      std::strcpy(entry->backend_id, backend_id);
    }
    entry->options = options;
    return Error::Ok;
  }
  template <typename Builder>
  Error set_options(Builder& builder) {
    return set_options(builder.backend_id(), builder.view());
  }
  // Returns the options of a backend. The result is empty for an unknown backend.
  Span<const BackendOption> get_options(const char* backend_id) const {
    const Entry* entry = backend_id ? find(backend_id) : nullptr;
    return entry ? Span<const BackendOption>(entry->options.data(), entry->options.size())
                 : Span<const BackendOption>();
  }
  bool has_options(const char* backend_id) const { return backend_id && find(backend_id); }
  size_t size() const { return size_; }

  struct EntryView {
    const char* backend_id = nullptr;
    Span<const BackendOption> options;
  };
  // `index` must be below size().
  EntryView entry_at(size_t index) const {
    return {entries_[index].backend_id, get_options(entries_[index].backend_id)};
  }

 private:
  static constexpr size_t kMaxBackends = 8;
  static constexpr size_t kMaxBackendIdLength = 64;
  struct Entry {
    char backend_id[kMaxBackendIdLength] = "";
    Span<BackendOption> options;
  };
  const Entry* find(const char* backend_id) const {
    for (size_t i = 0; i < size_; ++i) {
      if (std::strcmp(entries_[i].backend_id, backend_id) == 0) return &entries_[i];
    }
    return nullptr;
  }
  Entry entries_[kMaxBackends];
  size_t size_ = 0;
};

}  // namespace runtime
}  // namespace executorch
