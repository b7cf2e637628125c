#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <variant>

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/span.h"
#include "rushlight/core/backend.h"

namespace executorch {
namespace runtime {

constexpr size_t kMaxOptionKeyLength = 64;
constexpr size_t kMaxOptionValueLength = 256;

// The value of an option: a bool, an int or a text.
using OptionValue = std::variant<bool, int, std::array<char, kMaxOptionValueLength>>;

// An option that the application gives a backend at run time.
struct BackendOption {
  char key[kMaxOptionKeyLength]{};
  OptionValue value;
};

// A list of at most MaxCapacity options.
template <size_t MaxCapacity>
class BackendOptions {
 public:
  BackendOptions() = default;
  Span<BackendOption> view() { return Span<BackendOption>(options_, size_); }

  // Set an option. Return InvalidArgument if the list is full, or if the text is too long.
  template <size_t N>
  Error set_option(const char (&key)[N], bool value) noexcept {
    return set(key, value);
  }
  template <size_t N>
  Error set_option(const char (&key)[N], int value) noexcept {
    return set(key, value);
  }
  template <size_t N>
  Error set_option(const char (&key)[N], const char* value) noexcept {
    std::array<char, kMaxOptionValueLength> text{};
    const size_t length = std::strlen(value);
    if (length >= text.size()) return Error::InvalidArgument;
    std::memcpy(text.data(), value, length);
    return set(key, text);
  }
  // Reads an option; T is bool, int or const char*. Returns NotFound for an unknown option, and InvalidArgument if the
  // option has another type.
  template <typename T, size_t N>
  Error get_option(const char (&key)[N], T& out) const {
    static_assert(N <= kMaxOptionKeyLength, "the key is too long");
    for (size_t i = 0; i < size_; ++i) {
      if (std::strcmp(options_[i].key, key) != 0) continue;
      if constexpr (std::is_same_v<T, const char*>) {
        const auto* text = std::get_if<std::array<char, kMaxOptionValueLength>>(&options_[i].value);
        if (!text) return Error::InvalidArgument;
        out = text->data();
      } else {
        const T* value = std::get_if<T>(&options_[i].value);
        if (!value) return Error::InvalidArgument;
        out = *value;
      }
      return Error::Ok;
    }
    return Error::NotFound;
  }

 private:
  template <size_t N, typename T>
  Error set(const char (&key)[N], const T& value) {
    static_assert(N <= kMaxOptionKeyLength, "the key is too long");
    for (size_t i = 0; i < size_; ++i) {
      if (std::strcmp(options_[i].key, key) == 0) return options_[i].value = value, Error::Ok;
    }
    if (size_ == MaxCapacity) return Error::InvalidArgument;
    std::memcpy(options_[size_].key, key, N);
    options_[size_++].value = value;
    return Error::Ok;
  }
  BackendOption options_[MaxCapacity]{};
  size_t size_ = 0;
};

// The name and the options of one backend. Each backend has a subclass with a function for each option.
template <typename Derived, size_t MaxCapacity>
class LoadOptionsBuilder {
 public:
  const char* backend_id() const { return Derived::kBackendId; }
  Span<BackendOption> view() { return options_.view(); }

 protected:
  BackendOptions<MaxCapacity> options_;
};

}  // namespace runtime
}  // namespace executorch
