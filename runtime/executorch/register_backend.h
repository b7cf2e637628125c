#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "executorch/runtime/backend/options.h"
#include "rushlight/core/backend.h"

namespace executorch {
namespace runtime {
namespace internal {

// Registers a backend of the runtime. Changes nothing if a backend with this name is registered already.
Error register_native_backend(const ::rushlight::Backend& row);

// Converts an option to the runtime's type. The original option must outlive this object.
class NativeOption {
 public:
  explicit NativeOption(const BackendOption& option) {
    native_.key = option.key;
    if (const bool* truth = std::get_if<bool>(&option.value)) {
      native_.value = ::rushlight::EValue(*truth);
    } else if (const int* number = std::get_if<int>(&option.value)) {
      native_.value = ::rushlight::EValue(static_cast<int64_t>(*number));
    } else {
      text_ = std::get_if<std::array<char, kMaxOptionValueLength>>(&option.value)->data();
      native_.value = ::rushlight::EValue(&text_);
    }
  }
  NativeOption(const NativeOption&) = delete;
  NativeOption& operator=(const NativeOption&) = delete;
  const ::rushlight::BackendOption& option() const { return native_; }

 private:
  std::string_view text_;
  ::rushlight::BackendOption native_;
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
