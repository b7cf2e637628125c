#include "kernels/shared/diagonal.h"

#include <algorithm>

namespace rushlight {

bool read_diagonal(KernelRuntimeContext& context, const Tensor& tensor, int64_t offset, int64_t dim1, int64_t dim2,
                   Diagonal* d) {
  if (!normalize_dim(context, dim1, tensor.dim(), &d->row_axis) ||
      !normalize_dim(context, dim2, tensor.dim(), &d->column_axis)) {
    return false;
  }
  if (tensor.dim() < 2 || d->row_axis == d->column_axis) {
    context.fail(Error::InvalidArgument, "a diagonal needs two different dims");
    return false;
  }
  const int64_t rows = tensor.size(d->row_axis), columns = tensor.size(d->column_axis);
  d->row = std::clamp<int64_t>(offset, -rows, 0) * -1;
  d->column = std::clamp<int64_t>(offset, 0, columns);
  d->length = std::min(rows - d->row, columns - d->column);
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (i != d->row_axis && i != d->column_axis) d->shape.push(tensor.size(i));
  }
  d->shape.push(d->length);
  return true;
}

}  // namespace rushlight
