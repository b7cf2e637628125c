#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/result.h"
#include "rushlight/core/scalar_type.h"
#include "rushlight/core/span.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

class Program;

// What a program says about one of its tensors. Views into the program.
struct TensorInfo {
  ScalarType dtype = ScalarType::Float;
  ShapeDynamism dynamism = ShapeDynamism::Static;
  Span<const SizesType> sizes;  // upper bounds unless Static
  Span<const DimOrderType> dim_order;
  size_t nbytes = 0;               // of the upper bounds
  bool is_memory_planned = false;  // else its memory is given by the caller
  std::string_view name;           // fully qualified name of a buffer or parameter, "" if none
};

struct OperatorName {
  std::string_view name;      // "aten::add"
  std::string_view overload;  // "out", or ""
};

// A method as its program describes it; nothing is loaded. Valid as long as the program.
class MethodMeta {
 public:
  std::string_view name() const;  // NUL-terminated

  size_t num_inputs() const;
  size_t num_outputs() const;
  Result<Tag> input_tag(size_t index) const;
  Result<Tag> output_tag(size_t index) const;
  // InvalidArgument unless the input (output) is a tensor.
  Result<TensorInfo> input_tensor_meta(size_t index) const;
  Result<TensorInfo> output_tensor_meta(size_t index) const;

  // Tensors that keep a name and have memory of the method: mutable buffers.
  size_t num_attributes() const;
  Result<TensorInfo> attribute_tensor_meta(size_t index) const;

  // Planned memories: sizes in bytes of the buffers that a HierarchicalAllocator must hold, in order.
  size_t num_memory_planned_buffers() const;
  Result<size_t> memory_planned_buffer_size(size_t index) const;

  size_t num_instructions() const;
  size_t num_operators() const;
  Result<OperatorName> operator_name(size_t index) const;
  // One per delegate; a backend may occur several times.
  size_t num_backends() const;
  Result<std::string_view> backend_name(size_t index) const;
  bool uses_backend(std::string_view id) const;

  // Pytree specs of inputs and outputs as torch.utils._pytree writes them; "" if the program has none.
  std::string_view encoded_input_spec() const;
  std::string_view encoded_output_spec() const;

 private:
  friend class PlanView;
  MethodMeta(const uint8_t* root, uint32_t index) : root_(root), index_(index) {}
  const uint8_t* root_;  // of the validated tables
  uint32_t index_;       // of the method
};

}  // namespace rushlight
