#pragma once

#include "kernels/shared/shape.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight {

// A diagonal over two axes: element k has the position (row + k, column + k).
struct Diagonal {
  int64_t row_axis = 0, column_axis = 1;
  int64_t row = 0, column = 0;
  int64_t length = 0;
  Shape shape;  // shape of the result: the other axes, then the length of the diagonal
};

// If the dimensions are out of range or equal, records the failure and returns false.
bool read_diagonal(KernelRuntimeContext& context, const Tensor& tensor, int64_t offset, int64_t dim1, int64_t dim2,
                   Diagonal* diagonal);

}  // namespace rushlight
