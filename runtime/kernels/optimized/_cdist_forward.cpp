#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/optimized/gemm.h"
#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/shape.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

namespace {

using microkernels::BinaryOp;
using microkernels::F32Microkernels;
using microkernels::UnaryOp;

constexpr int64_t kChunk = 512;  // distances that are computed at a time
// With more points than this, Euclidean distances are computed with a GEMM, as in eager PyTorch.
constexpr int64_t kMaxPoints = 25;
// With fewer coordinates than this, the GEMM is slower than the differences.
constexpr int64_t kMinProductDepth = 16;

struct Points {
  const float* a;  // [rows, depth]
  const float* b;  // [columns, depth]
  float* out;      // [rows, columns]
  int64_t rows, columns, depth;
};

// Computes the distances of point `row` of a to the points [first, first + n) of b. `coordinates` is b transposed.
void row_distances(const F32Microkernels& kernels, const Points& points, const float* coordinates, double p,
                   int64_t row, int64_t first, int64_t n) {
  float differences[kChunk];
  float* const out = points.out + row * points.columns + first;
  for (int64_t k = 0; k < points.depth; ++k) {
    float* const to = k == 0 ? out : differences;
    kernels.binary(BinaryOp::Sub, coordinates + k * points.columns + first, 1, points.a + row * points.depth + k, 0, to,
                   n, 0);
    kernels.unary(p == 2 ? UnaryOp::Square : UnaryOp::Abs, to, to, n, 0, 0);
    if (k > 0) kernels.binary(std::isinf(p) ? BinaryOp::Maximum : BinaryOp::Add, out, 1, to, 1, out, n, 0);
  }
  if (p == 2) kernels.unary(UnaryOp::Sqrt, out, out, n, 0, 0);
}

// Computes all distances from the differences of the coordinates. `coordinates` is scratch memory for b transposed.
void difference_distances(KernelRuntimeContext& context, const F32Microkernels& kernels, const Points& points, double p,
                          float* coordinates) {
  for (int64_t k = 0; k < points.depth; ++k) {
    kernels.copy_strided(points.b + k, points.depth, points.columns, coordinates + k * points.columns);
  }
  const int64_t chunks = (points.columns + kChunk - 1) / kChunk;
  const int64_t grain = 16384 / (std::min(kChunk, points.columns) * points.depth) + 1;
  context.parallel_for(0, points.rows * chunks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task % chunks * kChunk;
      row_distances(kernels, points, coordinates, p, task / chunks, first, std::min(kChunk, points.columns - first));
    }
  });
}

// Computes all Euclidean distances with a GEMM: |a - b|^2 = |a|^2 + |b|^2 - 2 a b. `squares` is scratch memory for the
// squared lengths of b's points. Returns false if there is no memory.
bool euclidean_distances(KernelRuntimeContext& context, const F32Microkernels& kernels, const Points& points,
                         float* squares) {
  microkernels::F32Gemm gemm{};
  gemm.m = points.rows, gemm.n = points.columns, gemm.k = points.depth;
  gemm.a = points.a, gemm.lda = points.depth;
  gemm.rhs = microkernels::F32Gemm::Rhs::Transposed;
  gemm.b = points.b, gemm.ldb = points.depth;
  gemm.bias_of = microkernels::BiasOf::None;
  gemm.c = points.out, gemm.ldc = points.columns;
  if (!run_gemm(context, gemm)) return false;
  const auto square = [&](const float* point) {
    return static_cast<float>(kernels.squared_deviations(point, points.depth, 0));
  };
  for (int64_t j = 0; j < points.columns; ++j) squares[j] = square(points.b + j * points.depth);
  context.parallel_for(0, points.rows, 16384 / points.columns + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float a_square = square(points.a + i * points.depth);
      for (int64_t j = 0; j < points.columns; j += kChunk) {
        const int64_t n = std::min(kChunk, points.columns - j);
        float* const out = points.out + i * points.columns + j;
        kernels.unary(UnaryOp::Affine, out, out, n, -2, a_square);
        kernels.binary(BinaryOp::Add, out, 1, squares + j, 1, out, n, 0);
        kernels.unary(UnaryOp::Relu, out, out, n, 0, 0);
        kernels.unary(UnaryOp::Sqrt, out, out, n, 0, 0);
      }
    }
  });
  return true;
}

}  // namespace

// Supports row-major float32 with equal batches, for p = 1, 2 and infinity.
bool cdist_forward_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, double p,
                       std::optional<int64_t> mode, Tensor& out) {
  const int64_t rank = a.dim();
  if (!is_row_major_float(a) || !is_row_major_float(b) || !is_float(out) || rank < 2 || b.dim() != rank) return false;
  if (p != 1 && p != 2 && p != std::numeric_limits<double>::infinity()) return false;
  Points points{nullptr, nullptr, nullptr, a.size(rank - 2), b.size(rank - 2), a.size(rank - 1)};
  if (points.depth == 0 || b.size(rank - 1) != points.depth) return false;
  Shape shape(a.sizes());
  for (int64_t d = 0; d < rank - 2; ++d) {
    if (a.size(d) != b.size(d)) return false;
  }
  shape.set(rank - 1, points.columns);
  if (!resize_out(context, out, shape.span())) return true;
  if (!is_row_major(out)) return false;
  if (out.numel() == 0) return true;
  const bool is_large = points.rows > kMaxPoints || points.columns > kMaxPoints;
  const bool multiplies =
      p == 2 && points.depth >= kMinProductDepth && mode.value_or(0) != 2 && (is_large || mode.value_or(0) == 1);
  const F32Microkernels& kernels = microkernels::f32_microkernels();
  float* const scratch = context.allocate_temporary_array<float>(
      static_cast<size_t>(multiplies ? points.columns : points.columns * points.depth));
  if (scratch == nullptr) return true;
  const int64_t batches = out.numel() / (points.rows * points.columns);
  for (int64_t i = 0; i < batches; ++i) {
    points.a = a.const_data_ptr<float>() + i * points.rows * points.depth;
    points.b = b.const_data_ptr<float>() + i * points.columns * points.depth;
    points.out = out.mutable_data_ptr<float>() + i * points.rows * points.columns;
    if (multiplies) {
      if (!euclidean_distances(context, kernels, points, scratch)) return true;
    } else {
      difference_distances(context, kernels, points, p, scratch);
    }
  }
  return true;
}

}  // namespace rushlight::optimized
