#pragma once

#include <cstdint>
#include <optional>

#include "kernels/shared/index_reader.h"
#include "kernels/shared/shape.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight {

// The elements that x[i, :, j, ...] selects by the rules of numpy and torch. Positions come from index tensors, which
// are broadcast with each other. A mask selects the positions of its true elements. The index dims replace the
// indexed dims if these are adjacent; otherwise the index dims come first.
class AdvancedIndex {
 public:
  // Checks the dtypes and shapes of `indices`, and checks the positions against the sizes of `indexed`. If they are
  // invalid, records the failure and returns false.
  bool read(KernelRuntimeContext& context, const Tensor& indexed, Span<const std::optional<Tensor>> indices);

  // Returns the shape of x[...].
  const Shape& shape() const { return shape_; }

  // Calls body(offset in `indexed`, offset in `other`) for each position of the index dims from `begin` to `end`, in
  // row-major order. `other` has shape() and the given strides. From each offset, the loops of block() visit the
  // elements of the dims that are not indexed.
  template <typename Body>
  void for_each(const int64_t* strides, int64_t begin, int64_t end, const Body& body) const;
  int64_t positions() const;
  // Returns the loops over the dims that are not indexed. The source strides are the strides of `indexed`; `strides`
  // are the destination strides.
  StridedLoops block(const int64_t* strides) const;

 private:
  struct Axis {
    IndexReader positions;
    int64_t size, stride;    // of the axis of `indexed`
    int64_t steps[kMaxDim];  // [dims of index_shape_]: elements of `positions` from index to index of the dim
  };
  bool add_indices(KernelRuntimeContext& context, Span<const std::optional<Tensor>> indices);
  bool add_mask(KernelRuntimeContext& context, const Tensor& mask, int64_t first_axis);
  bool add_positions(KernelRuntimeContext& context, const Tensor& index, int64_t axis);
  void align_steps();
  bool set_shape(KernelRuntimeContext& context);
  bool is_indexed(int64_t axis) const { return (indexed_ >> axis & 1u) != 0; }
  bool broadcast(KernelRuntimeContext& context, Span<const SizesType> sizes);

  Shape shape_;
  Shape index_shape_;             // the index tensors, broadcast
  int64_t index_dims_begin_ = 0;  // the first index dim of shape_
  uint32_t indexed_ = 0;          // axes of `indexed`, as bits
  int64_t rank_ = 0;
  int64_t sizes_[kMaxDim];
  int64_t strides_[kMaxDim];
  int axis_count_ = 0;
  Axis axes_[kMaxDim];
};

template <typename Body>
void AdvancedIndex::for_each(const int64_t* strides, int64_t begin, int64_t end, const Body& body) const {
  int64_t index[kMaxDim] = {};
  int64_t rest = begin;
  for (int d = index_shape_.dim - 1; d >= 0; --d) {
    index[d] = rest % index_shape_.sizes[d];
    rest /= index_shape_.sizes[d];
  }
  for (int64_t position = begin; position < end; ++position) {
    int64_t from = 0, other = 0;
    for (int i = 0; i < axis_count_; ++i) {
      const Axis& axis = axes_[i];
      int64_t element = 0;
      for (int d = 0; d < index_shape_.dim; ++d) element += index[d] * axis.steps[d];
      const int64_t at = axis.positions[element];
      from += (at < 0 ? at + axis.size : at) * axis.stride;
    }
    for (int d = 0; d < index_shape_.dim; ++d) other += index[d] * strides[index_dims_begin_ + d];
    body(from, other);
    for (int d = index_shape_.dim - 1; d >= 0; --d) {
      if (++index[d] < index_shape_.sizes[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace rushlight
