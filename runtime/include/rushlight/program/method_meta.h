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

// The description of a tensor in a program. Its members are views into the program.
struct TensorInfo {
  ScalarType dtype = ScalarType::Float;
  ShapeDynamism dynamism = ShapeDynamism::STATIC;
  Span<const SizesType> sizes;  // upper bounds unless STATIC
  Span<const DimOrderType> dim_order;
  size_t nbytes = 0;               // bytes of a tensor with these sizes
  bool is_memory_planned = false;  // otherwise the caller provides its memory
  std::string_view name;           // fully qualified name of a buffer or parameter, or ""
};

// The name of an operator. Its members are views into the program.
struct OperatorName {
  std::string_view name;      // "aten::add"
  std::string_view overload;  // "out", or ""
};

// The description of a method in its program; the method need not be loaded. The description is valid as long as the
// program. Any number of threads may use it. Functions with an index return InvalidArgument if the index is too large.
class MethodMeta {
 public:
  // Returns the name of the method. The text ends with NUL.
  std::string_view name() const;

  // The inputs and outputs: their number and their types.
  size_t num_inputs() const;
  size_t num_outputs() const;
  Result<Tag> input_tag(size_t index) const;
  Result<Tag> output_tag(size_t index) const;
  // Returns the description of an input or output tensor, or InvalidArgument if the value is not a tensor.
  Result<TensorInfo> input_tensor_meta(size_t index) const;
  Result<TensorInfo> output_tensor_meta(size_t index) const;

  // The tensors with a name and planned memory: mutable buffers.
  size_t num_attributes() const;
  Result<TensorInfo> attribute_tensor_meta(size_t index) const;

  // The planned memories: the sizes in bytes of the buffers that a HierarchicalAllocator must have, in order.
  size_t num_memory_planned_buffers() const;
  Result<size_t> memory_planned_buffer_size(size_t index) const;

  // The instructions, and the operators that the instructions call.
  size_t num_instructions() const;
  size_t num_operators() const;
  Result<OperatorName> operator_name(size_t index) const;
  // The backends, one for each delegate; a backend may occur several times.
  size_t num_backends() const;
  Result<std::string_view> backend_name(size_t index) const;
  bool uses_backend(std::string_view id) const;

  // Return the structures of the inputs and outputs as JSON text of torch.utils._pytree, or "" if there are none.
  std::string_view encoded_input_spec() const;
  std::string_view encoded_output_spec() const;

 private:
  friend class PlanView;
  MethodMeta(const uint8_t* root, uint32_t index) : root_(root), index_(index) {}
  const uint8_t* root_;  // the validated tables
  uint32_t index_;       // index of the method
};

}  // namespace rushlight
