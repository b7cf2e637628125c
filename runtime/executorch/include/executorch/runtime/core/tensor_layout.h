#pragma once

#include <cstddef>
#include <cstdint>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/span.h"
#include "rushlight/core/named_data.h"

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

// The dtype and shape of a stored tensor. The spans are views into the file.
class TensorLayout final {
 public:
  TensorLayout() = delete;
  TensorLayout(const ::rushlight::TensorLayout& layout) : native_(layout) {}  // NOLINT
  // Returns InvalidArgument if the shape is invalid.
  static Result<const TensorLayout> create(Span<const int32_t> sizes, Span<const uint8_t> dim_order,
                                           aten::ScalarType scalar_type);
  Span<const int32_t> sizes() const { return native_.sizes; }
  Span<const uint8_t> dim_order() const { return native_.dim_order; }
  aten::ScalarType scalar_type() const { return native_.dtype; }
  size_t nbytes() const { return native_.nbytes; }

 private:
  ::rushlight::TensorLayout native_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::TensorLayout;
}  // namespace executor
}  // namespace torch
