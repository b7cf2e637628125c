#pragma once

#include "kernels/shared/shape.h"

namespace rushlight {

// The matrices [batch..., rows, columns] of a tensor of float32 or float64, or the vectors [batch..., rows], each a
// matrix of one column; read and written in row-major order, in double.
class MatrixBatch {
 public:
  explicit MatrixBatch(const Tensor& tensor, bool vectors = false) : tensor_(tensor), vectors_(vectors) {}

  int64_t rows() const { return tensor_.size(batch().size()); }
  int64_t columns() const { return vectors_ ? 1 : tensor_.size(tensor_.dim() - 1); }
  int64_t elements() const { return rows() * columns(); }
  Span<const SizesType> batch() const { return {tensor_.sizes().data(), tensor_.sizes().size() - (vectors_ ? 1 : 2)}; }
  // The matrices of a batch of `sizes`, to which this one broadcasts, by position in row-major order.
  void read(Span<const SizesType> sizes, int64_t position, double* to) const;
  void write(Span<const SizesType> sizes, int64_t position, const double* from) const;
  // The position of such a matrix in this batch.
  int64_t index_of(Span<const SizesType> sizes, int64_t position) const;

 private:
  template <typename Body>
  void for_each_element(Span<const SizesType> sizes, int64_t position, const Body& body) const;

  Tensor tensor_;
  bool vectors_;
};

// The number of matrices in a batch.
int64_t count_of(Span<const SizesType> sizes);

// Requires matrices, square ones if `square`, of float32 or float64.
bool require_matrices(KernelRuntimeContext& context, const Tensor& tensor, bool square);

// Shape of a batch of matrices or vectors.
Shape batch_of(Span<const SizesType> sizes, std::initializer_list<int64_t> matrix);

// Requires that `tensor` has `dtype`.
bool require_dtype(KernelRuntimeContext& context, const Tensor& tensor, ScalarType dtype);

// Row-major n x m with the roles of rows and columns exchanged, in place of `to`.
void transpose_matrix(const double* from, int64_t rows, int64_t columns, double* to);

}  // namespace rushlight
