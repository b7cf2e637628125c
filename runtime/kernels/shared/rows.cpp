#include "kernels/shared/rows.h"

namespace rushlight {

Rows::Rows(std::initializer_list<Tensor> tensors, int64_t axis) {
  const Tensor& first = *tensors.begin();
  nest_.operands = static_cast<int>(tensors.size());
  for (int64_t d = 0; d < first.dim(); ++d) {
    if (d == axis) continue;
    nest_.size[nest_.dim] = first.size(d);
    int k = 0;
    for (const Tensor& tensor : tensors) nest_.stride[k++][nest_.dim] = tensor.stride(d);
    ++nest_.dim;
  }
  int k = 0;
  for (const Tensor& tensor : tensors) {
    length_[k] = tensor.dim() > 0 ? tensor.size(axis) : 1;
    stride_[k++] = tensor.dim() > 0 ? tensor.stride(axis) : 1;
  }
  nest_.sort_by(0);
  nest_.collapse();
  count_ = nest_.numel();
}

bool Rows::adjacent() const {
  for (int k = 0; k < nest_.operands; ++k) {
    if (nest_.dim == 0 || step(k) != 1) return false;
  }
  return true;
}

}  // namespace rushlight
