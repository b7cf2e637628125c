#include <algorithm>
#include <optional>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduce_dims.h"
#include "kernels/optimized/reduction.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

namespace {

using microkernels::BinaryOp;

constexpr int64_t kChunk = 512;

float product_of_row(const microkernels::F32Microkernels& kernels, const float* x, int64_t n) {
  float products[kChunk];
  int64_t count = std::min(kChunk, n);
  std::copy_n(x, count, products);
  for (int64_t i = count; i < n; i += kChunk) {
    kernels.binary(BinaryOp::Mul, products, 1, x + i, 1, products, std::min(kChunk, n - i), 0);
  }
  // Multiplies the products in the lower half by those in the upper half.
  for (; count > 8; count -= count / 2) {
    const int64_t half = count / 2;
    kernels.binary(BinaryOp::Mul, products, 1, products + count - half, 1, products, half, 0);
  }
  float product = 1;
  for (int64_t i = 0; i < count; ++i) product *= products[i];
  return product;
}

bool product_over(KernelRuntimeContext& context, const Tensor& in, DimMask mask, bool keepdim,
                  std::optional<ScalarType> dtype, const Tensor& out) {
  ReductionShape f;
  if (dtype.value_or(out.scalar_type()) != ScalarType::Float || out.scalar_type() != ScalarType::Float ||
      !float_reduction_shape(in, mask, &f)) {
    return false;
  }
  if (!resize_out(context, out, reduced_shape(in, mask, keepdim).span())) return true;
  if (!is_row_major(out)) return false;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const float* x = in.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  if (f.inner == 1 && f.reduced <= kShortRow && f.outer >= kTransposedRows) {
    for_transposed_rows(context, x, f.outer, f.reduced, [&](const float* block, int64_t rows, int64_t first) {
      std::copy_n(block, rows, y + first);
      for (int64_t i = 1; i < f.reduced; ++i) {
        kernels.binary(BinaryOp::Mul, y + first, 1, block + i * kTransposedRows, 1, y + first, rows, 0);
      }
    });
    return true;
  }
  const int64_t chunks = (f.inner + kChunk - 1) / kChunk;
  const int64_t grain = std::max<int64_t>(1, kReductionGrain / (f.reduced * std::min(kChunk, f.inner)));
  context.parallel_for(0, f.outer * chunks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (f.inner == 1) {
        y[i] = product_of_row(kernels, x + i * f.reduced, f.reduced);
        continue;
      }
      const int64_t outer = i / chunks, column = i % chunks * kChunk, columns = std::min(kChunk, f.inner - column);
      const float* const from = x + outer * f.reduced * f.inner + column;
      float* const to = y + outer * f.inner + column;
      std::copy_n(from, columns, to);
      for (int64_t r = 1; r < f.reduced; ++r) {
        kernels.binary(BinaryOp::Mul, to, 1, from + r * f.inner, 1, to, columns, 0);
      }
    }
  });
  return true;
}

}  // namespace

bool prod_int_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool keepdim,
                  std::optional<ScalarType> dtype, Tensor& out) {
  DimMask mask;
  return !dim_mask(context, in, dim, &mask) || product_over(context, in, mask, keepdim, dtype, out);
}

bool prod_out(KernelRuntimeContext& context, const Tensor& in, std::optional<ScalarType> dtype, Tensor& out) {
  DimMask mask;
  return !dim_mask(context, in, std::nullopt, &mask) || product_over(context, in, mask, false, dtype, out);
}

}  // namespace rushlight::optimized
