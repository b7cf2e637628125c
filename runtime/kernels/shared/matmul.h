#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/scalar_type.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// A batch of matrices in memory. Strides are in elements.
struct MatrixStack {
  void* data = nullptr;
  int64_t batch = 0, row = 0, column = 0;
};

// Computes out[b] = beta * bias[b] + alpha * a[b] x b[b]. a is rows x depth, b is depth x columns. The bias is
// treated as zero if it has no data or beta is 0. 16-bit floats are accumulated in float. Integers wrap around.
struct MatmulProblem {
  int64_t batches = 1, rows = 0, columns = 0, depth = 0;
  MatrixStack a, b, bias, out;
  Scalar alpha = 1, beta = 1;
};

inline constexpr DtypeSet kMatmulTypes = dtypes::kRealH | DtypeSet(ScalarType::ComplexFloat, ScalarType::ComplexDouble);

void matmul(KernelRuntimeContext& context, ScalarType dtype, const MatmulProblem& problem);

// Returns the view of a matrix or, with `batched`, of a batch of matrices.
MatrixStack matrix_of(const Tensor& tensor, bool batched = false);
// Returns `tensor`, broadcast to [rows, columns] or, with `batched`, to [batches, rows, columns]. Fails if this is
// impossible.
bool broadcast_matrix(KernelRuntimeContext& context, const Tensor& tensor, Span<const int64_t> sizes,
                      MatrixStack* matrix);

}  // namespace rushlight
