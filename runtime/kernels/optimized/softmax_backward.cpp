// Gradients of softmax and of its logarithm, over one dim of row-major float32 tensors.
#include <algorithm>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduce_dims.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/shape.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

using microkernels::BinaryOp;
using microkernels::UnaryOp;

namespace {

constexpr int64_t kChunk = 512;
constexpr int64_t kMinColumns = 16;

// Softmax: out = y * (g - sum of g * y). Its logarithm: out = g - exp(y) * sum of g.
struct SoftmaxBackward {
  bool logarithm;
  const float *grad, *output;
  float* out;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();

  // Writes the terms of the sums of n elements to `terms`, or returns the gradients if they are the terms.
  const float* find_terms(int64_t at, int64_t n, float* terms) const {
    if (logarithm) return grad + at;
    kernels.binary(BinaryOp::Mul, grad + at, 1, output + at, 1, terms, n, 0);
    return terms;
  }

  // Computes n results, whose sums are `step` floats apart: 0 or 1.
  void apply(int64_t at, int64_t n, const float* sums, int64_t step) const {
    float block[kChunk];
    if (logarithm) {
      kernels.unary(UnaryOp::Exp, output + at, block, n, 0, 0);
      kernels.binary(BinaryOp::Mul, block, 1, sums, step, block, n, 0);
      kernels.binary(BinaryOp::Sub, grad + at, 1, block, 1, out + at, n, 0);
    } else {
      kernels.binary(BinaryOp::Sub, grad + at, 1, sums, step, block, n, 0);
      kernels.binary(BinaryOp::Mul, block, 1, output + at, 1, out + at, n, 0);
    }
  }

  void compute_row(int64_t first, int64_t n) const {
    double total = 0;
    float terms[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t count = std::min(kChunk, n - i);
      total += kernels.sum(find_terms(first + i, count, terms), count);
    }
    const float sum = static_cast<float>(total);
    for (int64_t i = 0; i < n; i += kChunk) apply(first + i, std::min(kChunk, n - i), &sum, 0);
  }

  // Computes `columns` columns of n elements, which are `stride` floats apart.
  void compute_columns(int64_t first, int64_t n, int64_t stride, int64_t columns) const {
    float sums[kChunk] = {}, terms[kChunk];
    for (int64_t i = 0; i < n; ++i) {
      kernels.binary(BinaryOp::Add, sums, 1, find_terms(first + i * stride, columns, terms), 1, sums, columns, 0);
    }
    for (int64_t i = 0; i < n; ++i) apply(first + i * stride, columns, sums, 1);
  }

  void compute(KernelRuntimeContext& context, const ReductionShape& f) const {
    const int64_t chunks = f.inner == 1 ? 1 : (f.inner + kChunk - 1) / kChunk;
    const int64_t grain = std::max<int64_t>(1, kReductionGrain / (f.reduced * std::min(f.inner, kChunk)));
    context.parallel_for(0, f.outer * chunks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % chunks * kChunk, first = i / chunks * f.reduced * f.inner + column;
        if (f.inner == 1) {
          compute_row(first, f.reduced);
        } else {
          compute_columns(first, f.reduced, f.inner, std::min(kChunk, f.inner - column));
        }
      }
    });
  }
};

bool backward(KernelRuntimeContext& context, bool logarithm, const Tensor& grad, const Tensor& output, int64_t dim,
              const Tensor& out) {
  ReductionShape f;
  DimMask mask;
  if (grad.dim() == 0 || !all_float(grad, output, out) || !is_row_major(output) || !same_shape(grad, output)) {
    return false;
  }
  if (!dim_mask(context, grad, dim, &mask)) return true;
  if (!float_reduction_shape(grad, mask, &f) || (f.inner > 1 && f.inner < kMinColumns)) return false;
  if (!resize_out_like(context, out, grad)) return true;
  if (!is_row_major(out)) return false;
  const SoftmaxBackward kernel{logarithm, grad.const_data_ptr<float>(), output.const_data_ptr<float>(),
                               out.mutable_data_ptr<float>()};
  kernel.compute(context, f);
  return true;
}

}  // namespace

bool softmax_backward_data_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& output, int64_t dim,
                               ScalarType, Tensor& out) {
  return backward(context, false, grad, output, dim, out);
}

bool log_softmax_backward_data_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& output, int64_t dim,
                                   ScalarType, Tensor& out) {
  return backward(context, true, grad, output, dim, out);
}

}  // namespace rushlight::optimized
