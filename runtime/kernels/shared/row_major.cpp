#include "kernels/shared/row_major.h"

#include "kernels/shared/axes.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight {
namespace {

void row_major_strides(const Tensor& tensor, int64_t* strides) {
  int64_t stride = 1;
  for (int64_t axis = tensor.dim() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= tensor.size(axis);
  }
}

}  // namespace

RowMajorInput::RowMajorInput(KernelRuntimeContext& context, const Tensor& tensor) : data_(tensor.const_data_ptr()) {
  if (tensor.numel() == 0 || is_row_major(tensor)) return;
  void* copy = context.allocate_temporary(tensor.nbytes());
  data_ = copy;
  if (!copy) return;
  int64_t strides[kMaxDim];
  row_major_strides(tensor, strides);
  StridedLoops loops;
  for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
    loops.add(tensor.size(axis), tensor.stride(axis), strides[axis]);
  }
  strided_copy(context, loops, tensor.const_data_ptr(), copy, tensor.element_size());
}

RowMajorOutput::RowMajorOutput(KernelRuntimeContext& context, const Tensor& tensor)
    : context_(context), tensor_(tensor), data_(tensor.mutable_data_ptr()) {
  if (tensor.numel() != 0 && !is_row_major(tensor)) data_ = context.allocate_temporary(tensor.nbytes());
}

void RowMajorOutput::finish() {
  if (data_ == tensor_.const_data_ptr() || !data_) return;
  int64_t strides[kMaxDim];
  row_major_strides(tensor_, strides);
  StridedLoops loops;
  for (int64_t axis = 0; axis < tensor_.dim(); ++axis) {
    loops.add(tensor_.size(axis), strides[axis], tensor_.stride(axis));
  }
  strided_copy(context_, loops, data_, tensor_.mutable_data_ptr(), tensor_.element_size());
}

}  // namespace rushlight
