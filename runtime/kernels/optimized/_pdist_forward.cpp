#include <cmath>
#include <cstring>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/shape.h"
#include "microkernels/simd/inline.h"

namespace rushlight::optimized {

namespace {

typedef float Vector __attribute__((vector_size(16)));

// Returns the terms of four coordinates.
template <bool is_euclidean>
RL_INLINE Vector terms(const float* x, const float* y) {
  Vector a, b;
  std::memcpy(&a, x, sizeof(a));
  std::memcpy(&b, y, sizeof(b));
  const Vector d = a - b;
  return is_euclidean ? d * d : d > 0 ? d : -d;
}

// Returns the distance of two points with n coordinates for p = 1 or 2, as 16 partial sums.
template <bool is_euclidean>
float distance(const float* x, const float* y, int64_t n) {
  Vector a{}, b{}, c{}, d{};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    a += terms<is_euclidean>(x + i, y + i), b += terms<is_euclidean>(x + i + 4, y + i + 4);
    c += terms<is_euclidean>(x + i + 8, y + i + 8), d += terms<is_euclidean>(x + i + 12, y + i + 12);
  }
  const Vector total = (a + b) + (c + d);
  float sum = (total[0] + total[1]) + (total[2] + total[3]);
  for (; i < n; ++i) {
    const float rest = x[i] - y[i];
    sum += is_euclidean ? rest * rest : std::fabs(rest);
  }
  return is_euclidean ? std::sqrt(sum) : sum;
}

}  // namespace

// Supports row-major float32 for p = 1 and 2.
bool pdist_forward_out(KernelRuntimeContext& context, const Tensor& in, double p, Tensor& out) {
  if (in.dim() != 2 || !is_row_major_float(in) || !is_float(out) || (p != 1 && p != 2)) return false;
  const int64_t points = in.size(0), length = in.size(1), last = points - 1;
  if (!resize_out(context, out, {points > 0 ? points * last / 2 : 0})) return true;
  if (out.numel() == 0) return true;
  const float* const x = in.const_data_ptr<float>();
  float* const distances = out.mutable_data_ptr<float>();
  const auto measure = p == 2 ? distance<true> : distance<false>;
  context.parallel_for(0, last, 1 + 32768 / (points * (length + 8)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* to = distances + i * last - i * (i - 1) / 2;  // after the pairs of the points before i
      for (int64_t j = i + 1; j < points; ++j) *to++ = measure(x + i * length, x + j * length, length);
    }
  });
  return true;
}

}  // namespace rushlight::optimized
