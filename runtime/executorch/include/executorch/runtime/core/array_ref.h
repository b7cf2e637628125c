#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "executorch/runtime/platform/assert.h"
#include "rushlight/core/span.h"

namespace executorch {
namespace runtime {

// A view of read-only elements.
template <typename T>
using ArrayRef = ::rushlight::Span<const T>;
using IntArrayRef = ArrayRef<int64_t>;

template <typename T>
ArrayRef<T> makeArrayRef(const T& element) {
  return ArrayRef<T>(&element, size_t{1});
}
template <typename T>
ArrayRef<T> makeArrayRef(const T* data, size_t length) {
  return ArrayRef<T>(data, length);
}
template <typename T>
ArrayRef<T> makeArrayRef(const T* begin, const T* end) {
  return ArrayRef<T>(begin, end);
}
template <typename T, size_t N>
ArrayRef<T> makeArrayRef(const std::array<T, N>& array) {
  return ArrayRef<T>(array.data(), N);
}
template <typename T, size_t N>
ArrayRef<T> makeArrayRef(const T (&array)[N]) {
  return ArrayRef<T>(array, N);
}
template <typename T>
ArrayRef<T> makeArrayRef(const ::rushlight::Span<const T>& view) {
  return view;
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::ArrayRef;
using ::executorch::runtime::IntArrayRef;
using ::executorch::runtime::makeArrayRef;
}  // namespace executor
}  // namespace torch
