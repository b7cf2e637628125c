#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/span.h"
#include "executorch/runtime/core/tag.h"
#include "rushlight/program/method_meta.h"

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

// The description of a tensor in a program. The spans are views into the program.
class TensorInfo final {
 public:
  TensorInfo() = delete;
  TensorInfo(const ::rushlight::TensorInfo& info) : native_(info) {}  // NOLINT
  Span<const int32_t> sizes() const { return native_.sizes; }
  Span<const uint8_t> dim_order() const { return native_.dim_order; }
  aten::ScalarType scalar_type() const { return native_.dtype; }
  bool is_memory_planned() const { return native_.is_memory_planned; }
  size_t nbytes() const { return native_.nbytes; }
  std::string_view name() const { return native_.name; }

 private:
  ::rushlight::TensorInfo native_;
};

// The description of a method in its program; the method does not have to be loaded. Functions with an index return
// InvalidArgument if the index is too large.
class MethodMeta final {
 public:
  MethodMeta() = delete;
  MethodMeta(const ::rushlight::MethodMeta& meta) : native_(meta) {}  // NOLINT

  const char* name() const { return native_.name().data(); }
  size_t num_inputs() const { return native_.num_inputs(); }
  Result<Tag> input_tag(size_t index) const { return native_.input_tag(index); }
  Result<TensorInfo> input_tensor_meta(size_t index) const { return of(native_.input_tensor_meta(index)); }
  size_t num_outputs() const { return native_.num_outputs(); }
  Result<Tag> output_tag(size_t index) const { return native_.output_tag(index); }
  Result<TensorInfo> output_tensor_meta(size_t index) const { return of(native_.output_tensor_meta(index)); }
  size_t num_attributes() const { return native_.num_attributes(); }
  Result<TensorInfo> attribute_tensor_meta(size_t index) const { return of(native_.attribute_tensor_meta(index)); }
  size_t num_memory_planned_buffers() const { return native_.num_memory_planned_buffers(); }
  Result<int64_t> memory_planned_buffer_size(size_t index) const {
    auto size = native_.memory_planned_buffer_size(index);
    if (!size.ok()) return size.error();
    return static_cast<int64_t>(*size);
  }
  Result<aten::Device> memory_planned_buffer_device(size_t index) const {
    if (index >= num_memory_planned_buffers()) return Error::InvalidArgument;
    return aten::Device(aten::DeviceType::CPU, 0);
  }
  bool uses_backend(const char* backend_name) const { return native_.uses_backend(backend_name); }
  size_t num_backends() const { return native_.num_backends(); }
  Result<const char*> get_backend_name(size_t index) const {
    auto name = native_.backend_name(index);
    if (!name.ok()) return name.error();
    return name->data();
  }
  size_t num_instructions() const { return native_.num_instructions(); }
  ET_DEPRECATED size_t num_non_const_buffers() const { return num_memory_planned_buffers(); }
  Result<int64_t> non_const_buffer_size(size_t index) const { return memory_planned_buffer_size(index); }

 private:
  static Result<TensorInfo> of(Result<::rushlight::TensorInfo> info) {
    if (!info.ok()) return info.error();
    return TensorInfo(*info);
  }
  ::rushlight::MethodMeta native_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::MethodMeta;
using ::executorch::runtime::TensorInfo;
}  // namespace executor
}  // namespace torch
