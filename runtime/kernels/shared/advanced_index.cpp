#include "kernels/shared/advanced_index.h"

#include "kernels/shared/axes.h"

namespace rushlight {
namespace {

bool is_mask(const Tensor& index) {
  return index.scalar_type() == ScalarType::Bool || index.scalar_type() == ScalarType::Byte;
}

int64_t count_nonzero(const Tensor& mask) {
  const uint8_t* data = mask.const_data_ptr<uint8_t>();
  int64_t count = 0;
  for (int64_t i = 0; i < mask.numel(); ++i) count += data[i] != 0;
  return count;
}

// Sets positions[axis][k] to the position of the k-th true element, in row-major order.
void list_nonzero(const Tensor& mask, int64_t count, int64_t* positions) {
  const uint8_t* data = mask.const_data_ptr<uint8_t>();
  int64_t index[kMaxDim] = {};
  int64_t found = 0;
  for (int64_t i = 0; i < mask.numel(); ++i) {
    int64_t offset = 0;
    for (int64_t d = 0; d < mask.dim(); ++d) offset += index[d] * mask.stride(d);
    if (data[offset] != 0) {
      for (int64_t d = 0; d < mask.dim(); ++d) positions[d * count + found] = index[d];
      ++found;
    }
    for (int64_t d = mask.dim() - 1; d >= 0; --d) {
      if (++index[d] < mask.size(d)) break;
      index[d] = 0;
    }
  }
}

}  // namespace

bool AdvancedIndex::broadcast(KernelRuntimeContext& context, Span<const SizesType> sizes) {
  return broadcast_shape(context, index_shape_, sizes);
}

bool AdvancedIndex::add_mask(KernelRuntimeContext& context, const Tensor& mask, int64_t first_axis) {
  for (int64_t d = 0; d < mask.dim(); ++d) {
    if (first_axis + d >= rank_ || mask.size(d) != sizes_[first_axis + d]) {
      context.fail(Error::InvalidArgument,
                   "the shape of a mask differs from the sizes of the indexed dims, which begin at dim %lld",
                   static_cast<long long>(first_axis));
      return false;
    }
  }
  const int64_t count = count_nonzero(mask);
  const SizesType size = static_cast<SizesType>(count);
  if (!broadcast(context, Span<const SizesType>(&size, 1))) return false;
  if (mask.dim() == 0) return true;
  int64_t* positions = context.allocate_temporary_array<int64_t>(static_cast<size_t>(count * mask.dim() + 1));
  if (!positions) return false;
  list_nonzero(mask, count, positions);
  for (int64_t d = 0; d < mask.dim(); ++d) {
    Axis& axis = axes_[axis_count_++];
    axis = {IndexReader(positions + d * count), sizes_[first_axis + d], strides_[first_axis + d], {}};
    axis.steps[kMaxDim - 1] = count == 1 ? 0 : 1;
    indexed_ |= 1u << (first_axis + d);
  }
  return true;
}

bool AdvancedIndex::add_positions(KernelRuntimeContext& context, const Tensor& index, int64_t first_axis) {
  if (first_axis >= rank_) {
    context.fail(Error::InvalidArgument, "there are more indices than the tensor's %lld dims",
                 static_cast<long long>(rank_));
    return false;
  }
  if (!require_indices(context, index, -sizes_[first_axis], sizes_[first_axis])) return false;
  if (!broadcast(context, index.sizes())) return false;
  Axis& axis = axes_[axis_count_++];
  axis = {IndexReader(index), sizes_[first_axis], strides_[first_axis], {}};
  for (int64_t d = 0; d < index.dim(); ++d) {
    axis.steps[kMaxDim - index.dim() + d] = index.size(d) == 1 ? 0 : index.stride(d);
  }
  indexed_ |= 1u << first_axis;
  return true;
}

// Adds the index tensors and masks, and sets index_dims_begin_.
bool AdvancedIndex::add_indices(KernelRuntimeContext& context, Span<const std::optional<Tensor>> indices) {
  int64_t axis = 0;
  bool has_index = false, has_gap = false, are_separate = false;
  for (const std::optional<Tensor>& index : indices) {
    if (!index) {
      has_gap = has_index;
      ++axis;
      continue;
    }
    are_separate = are_separate || has_gap;
    if (!has_index) index_dims_begin_ = axis;
    has_index = true;
    if (is_mask(*index)) {
      if (!add_mask(context, *index, axis)) return false;
      axis += index->dim();
    } else {
      if (!add_positions(context, *index, axis)) return false;
      ++axis;
    }
  }
  if (axis > rank_) {
    context.fail(Error::InvalidArgument, "there are more indices than the tensor's %lld dims",
                 static_cast<long long>(rank_));
    return false;
  }
  if (are_separate) index_dims_begin_ = 0;
  return true;
}

// Moves the steps to the beginning of Axis::steps. add_mask() and add_positions() store them at the end, because dims
// are broadcast from the right and the rank of index_shape_ is not known before all indices are added.
void AdvancedIndex::align_steps() {
  const int shift = kMaxDim - index_shape_.dim;
  for (int i = 0; i < axis_count_; ++i) {
    for (int d = 0; d < index_shape_.dim; ++d) axes_[i].steps[d] = axes_[i].steps[d + shift];
  }
}

// Sets shape_: the dims that are not indexed, and before the one at index_dims_begin_ the index dims.
bool AdvancedIndex::set_shape(KernelRuntimeContext& context) {
  Shape others;
  for (int64_t axis = 0; axis < rank_; ++axis) {
    if (!is_indexed(axis)) others.push(sizes_[axis]);
  }
  for (int d = 0; d < index_dims_begin_; ++d) shape_.push(others.sizes[d]);
  for (const SizesType size : index_shape_.span()) shape_.push(size);
  for (int d = static_cast<int>(index_dims_begin_); d < others.dim; ++d) shape_.push(others.sizes[d]);
  if (shape_.dim > kMaxDim) {
    context.fail(Error::InvalidArgument, "the indexed result has %d dims, but at most %d are supported", shape_.dim,
                 kMaxDim);
    return false;
  }
  return true;
}

bool AdvancedIndex::read(KernelRuntimeContext& context, const Tensor& indexed,
                         Span<const std::optional<Tensor>> indices) {
  rank_ = indexed.dim();
  for (int64_t i = 0; i < rank_; ++i) {
    sizes_[i] = indexed.size(i);
    strides_[i] = indexed.stride(i);
  }
  if (!add_indices(context, indices)) return false;
  align_steps();
  return set_shape(context);
}

int64_t AdvancedIndex::positions() const { return checked_numel(index_shape_.span()); }

StridedLoops AdvancedIndex::block(const int64_t* strides) const {
  StridedLoops loops;
  int64_t out_dim = 0;
  for (int64_t i = 0; i < rank_; ++i) {
    if (is_indexed(i)) continue;
    if (out_dim == index_dims_begin_) out_dim += index_shape_.dim;
    loops.add(sizes_[i], strides_[i], strides[out_dim]);
    ++out_dim;
  }
  return loops;
}

}  // namespace rushlight
