#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/scalar_type.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// A stack of matrices in memory; strides in elements.
struct MatrixStack {
  void* data = nullptr;
  int64_t batch = 0, row = 0, column = 0;
};

// out[b] = beta * bias[b] + alpha * a[b] x b[b]: a is rows x depth, b is depth x columns. A bias without data counts as
// zero, and so does any bias where beta is 0. Half types accumulate in float; integers wrap around.
struct MatmulProblem {
  int64_t batches = 1, rows = 0, columns = 0, depth = 0;
  MatrixStack a, b, bias, out;
  Scalar alpha = 1, beta = 1;
};

inline constexpr DtypeSet kMatmulTypes = dtypes::kRealH | DtypeSet(ScalarType::ComplexFloat, ScalarType::ComplexDouble);

void matmul(KernelRuntimeContext& context, ScalarType dtype, const MatmulProblem& problem);

// A matrix, or with `batched` a stack of them.
MatrixStack matrix_of(const Tensor& tensor, bool batched = false);
// `tensor` broadcast to [rows, columns] or, with `batched`, [batches, rows, columns]; fails if it does not broadcast.
bool broadcast_matrix(KernelRuntimeContext& context, const Tensor& tensor, Span<const int64_t> sizes,
                      MatrixStack* matrix);

}  // namespace rushlight
