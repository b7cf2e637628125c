#include "kernels/shared/matrix_batch.h"

namespace rushlight {

template <typename Body>
void MatrixBatch::for_each_element(Span<const SizesType> sizes, int64_t position, const Body& body) const {
  const int64_t missing = static_cast<int64_t>(sizes.size()) - static_cast<int64_t>(batch().size());
  int64_t offset = 0;
  for (int64_t axis = static_cast<int64_t>(sizes.size()) - 1; axis >= 0; --axis) {
    const int64_t coordinate = position % sizes[axis];
    position /= sizes[axis];
    if (axis >= missing && tensor_.size(axis - missing) != 1) offset += coordinate * tensor_.stride(axis - missing);
  }
  const int64_t first = static_cast<int64_t>(batch().size());
  const int64_t row_stride = tensor_.stride(first), column_stride = vectors_ ? 0 : tensor_.stride(first + 1);
  int64_t element = 0;
  for (int64_t row = 0; row < rows(); ++row) {
    for (int64_t column = 0; column < columns(); ++column) {
      body(offset + row * row_stride + column * column_stride, element++);
    }
  }
}

int64_t MatrixBatch::index_of(Span<const SizesType> sizes, int64_t position) const {
  const int64_t missing = static_cast<int64_t>(sizes.size()) - static_cast<int64_t>(batch().size());
  int64_t index = 0, step = 1;
  for (int64_t axis = static_cast<int64_t>(sizes.size()) - 1; axis >= missing; --axis) {
    const int64_t own = tensor_.size(axis - missing);
    if (own != 1) index += position % sizes[axis] * step;
    step *= own;
    position /= sizes[axis];
  }
  return index;
}

void MatrixBatch::read(Span<const SizesType> sizes, int64_t position, double* to) const {
  if (tensor_.scalar_type() == ScalarType::Float) {
    const float* data = tensor_.const_data_ptr<float>();
    for_each_element(sizes, position,
                     [&](int64_t at, int64_t element) { to[element] = static_cast<double>(data[at]); });
  } else {
    const double* data = tensor_.const_data_ptr<double>();
    for_each_element(sizes, position, [&](int64_t at, int64_t element) { to[element] = data[at]; });
  }
}

void MatrixBatch::write(Span<const SizesType> sizes, int64_t position, const double* from) const {
  if (tensor_.scalar_type() == ScalarType::Float) {
    float* data = tensor_.mutable_data_ptr<float>();
    for_each_element(sizes, position,
                     [&](int64_t at, int64_t element) { data[at] = static_cast<float>(from[element]); });
  } else {
    double* data = tensor_.mutable_data_ptr<double>();
    for_each_element(sizes, position, [&](int64_t at, int64_t element) { data[at] = from[element]; });
  }
}

int64_t count_of(Span<const SizesType> sizes) {
  int64_t count = 1;
  for (const SizesType size : sizes) count *= size;
  return count;
}

bool require_matrices(KernelRuntimeContext& context, const Tensor& tensor, bool square) {
  if (!dtypes::kFloat.contains(tensor.scalar_type())) {
    context.fail(Error::InvalidType, "linear algebra is not supported for %s", dtype_name(tensor.scalar_type()));
    return false;
  }
  const int64_t rank = tensor.dim();
  if (rank < 2 || (square && tensor.size(rank - 1) != tensor.size(rank - 2))) {
    context.fail(Error::InvalidArgument,
                 "%s are needed, but the tensor has rank %lld and its last dims are %lld x %lld",
                 square ? "square matrices" : "matrices", static_cast<long long>(rank),
                 static_cast<long long>(rank < 2 ? 0 : tensor.size(rank - 2)),
                 static_cast<long long>(rank < 1 ? 0 : tensor.size(rank - 1)));
    return false;
  }
  return true;
}

Shape batch_of(Span<const SizesType> sizes, std::initializer_list<int64_t> matrix) {
  Shape shape(sizes);
  for (const int64_t size : matrix) shape.push(size);
  return shape;
}

bool require_dtype(KernelRuntimeContext& context, const Tensor& tensor, ScalarType dtype) {
  if (tensor.scalar_type() == dtype) return true;
  context.fail(Error::InvalidType, "a tensor of dtype %s is needed, but its dtype is %s", dtype_name(dtype),
               dtype_name(tensor.scalar_type()));
  return false;
}

void transpose_matrix(const double* from, int64_t rows, int64_t columns, double* to) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) to[column * rows + row] = from[row * columns + column];
  }
}

}  // namespace rushlight
