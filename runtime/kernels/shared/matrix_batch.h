#pragma once

#include "kernels/shared/shape.h"

namespace rushlight {

// The matrices [batch..., rows, columns] of a float32 or float64 tensor, or its vectors [batch..., rows] as matrices
// with one column. They are read and written in row-major order, in double.
class MatrixBatch {
 public:
  explicit MatrixBatch(const Tensor& tensor, bool vectors = false) : tensor_(tensor), vectors_(vectors) {}

  int64_t rows() const { return tensor_.size(batch().size()); }
  int64_t columns() const { return vectors_ ? 1 : tensor_.size(tensor_.dim() - 1); }
  int64_t elements() const { return rows() * columns(); }
  Span<const SizesType> batch() const { return {tensor_.sizes().data(), tensor_.sizes().size() - (vectors_ ? 1 : 2)}; }
  // Read or write the matrix at row-major `position` in a batch of `sizes`, to which this batch is broadcast.
  void read(Span<const SizesType> sizes, int64_t position, double* to) const;
  void write(Span<const SizesType> sizes, int64_t position, const double* from) const;
  // Returns the position in this batch of the matrix at `position` in a batch of `sizes`.
  int64_t index_of(Span<const SizesType> sizes, int64_t position) const;

 private:
  template <typename Body>
  void for_each_element(Span<const SizesType> sizes, int64_t position, const Body& body) const;

  Tensor tensor_;
  bool vectors_;
};

// Returns the number of matrices in a batch.
int64_t count_of(Span<const SizesType> sizes);

// Checks that a tensor contains float32 or float64 matrices, square ones with `square`.
bool require_matrices(KernelRuntimeContext& context, const Tensor& tensor, bool square);

// Returns the shape of a batch of matrices or vectors.
Shape batch_of(Span<const SizesType> sizes, std::initializer_list<int64_t> matrix);

// Checks that `tensor` has `dtype`.
bool require_dtype(KernelRuntimeContext& context, const Tensor& tensor, ScalarType dtype);

// Transposes a row-major rows x columns matrix into `to`.
void transpose_matrix(const double* from, int64_t rows, int64_t columns, double* to);

}  // namespace rushlight
