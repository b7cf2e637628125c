#include "kernels/optimized/matrices.h"

#include <algorithm>

namespace rushlight::optimized {

using microkernels::BiasOf;
using microkernels::F32Gemm;

namespace {

float* floats(const MatrixStack& stack) { return static_cast<float*>(stack.data); }

// Computes out = alpha * out + beta * bias. If alpha is 0, out may be uninitialized.
void add_scaled(const MatmulProblem& p, float alpha, float beta) {
  for (int64_t batch = 0; batch < p.batches; ++batch) {
    for (int64_t row = 0; row < p.rows; ++row) {
      float* out = floats(p.out) + batch * p.out.batch + row * p.out.row;
      const float* bias = floats(p.bias) + batch * p.bias.batch + row * p.bias.row;
      for (int64_t column = 0; column < p.columns; ++column) {
        const float scaled = alpha == 0.0f ? 0.0f : alpha * out[column];
        out[column] = beta == 0.0f ? scaled : scaled + beta * bias[column * p.bias.column];
      }
    }
  }
}

bool adjacent(int64_t stride, int64_t size) { return stride == 1 || size <= 1; }

}  // namespace

bool multiply_matrices(KernelRuntimeContext& context, ScalarType dtype, const MatmulProblem& p) {
  if (dtype != ScalarType::Float) {
    multiply_wide_matrices(context, dtype, p);
    return true;
  }
  if (!adjacent(p.a.column, p.depth) || !adjacent(p.out.column, p.columns)) return false;
  F32Gemm gemm{};
  gemm.m = p.rows, gemm.n = p.columns, gemm.k = p.depth;
  gemm.a = floats(p.a), gemm.lda = p.a.row;
  gemm.b = floats(p.b);
  gemm.c = floats(p.out), gemm.ldc = p.out.row;
  if (adjacent(p.b.column, p.columns) && p.columns > 1) {
    gemm.rhs = F32Gemm::Rhs::Rows;
    gemm.ldb = p.b.row;
  } else if (adjacent(p.b.row, p.depth)) {
    gemm.rhs = F32Gemm::Rhs::Transposed;
    gemm.ldb = p.b.column;
  } else {
    return false;
  }
  Steps steps{p.a.batch, p.b.batch, p.out.batch};
  const float alpha = p.alpha.to<float>();
  const float beta = p.bias.data ? p.beta.to<float>() : 0.0f;
  gemm.bias_of = BiasOf::None;
  if (alpha == 1.0f && beta == 1.0f && p.bias.batch == 0 && p.bias.row == 0 && p.bias.column == 1) {
    gemm.bias_of = BiasOf::Columns;
    gemm.bias = floats(p.bias);
  } else if (alpha == 1.0f && beta == 1.0f && p.bias.batch == 0 && p.bias.row == 1 && p.bias.column == 0) {
    gemm.bias_of = BiasOf::Rows;
    gemm.bias = floats(p.bias);
  } else if (alpha == 1.0f && beta != 0.0f) {
    add_scaled(p, 0.0f, beta);
    gemm.accumulates = true;
  }
  // A matrix-vector product reads the matrix in place, as the transposed product with one row.
  if (gemm.n == 1 && gemm.m > 1 && gemm.rhs == F32Gemm::Rhs::Transposed && p.out.row == 1 &&
      gemm.bias_of != BiasOf::Columns) {
    std::swap(gemm.a, gemm.b);
    std::swap(gemm.lda, gemm.ldb);
    std::swap(gemm.m, gemm.n);
    std::swap(steps.a, steps.b);
    gemm.ldc = gemm.n;
    if (gemm.bias_of == BiasOf::Rows) gemm.bias_of = BiasOf::Columns;
  }
  if (!run_batched_gemm(context, gemm, p.batches, steps)) return true;
  if (alpha != 1.0f) add_scaled(p, alpha, beta);
  return true;
}

}  // namespace rushlight::optimized
