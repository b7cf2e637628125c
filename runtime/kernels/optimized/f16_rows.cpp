#include "kernels/optimized/f16_rows.h"

#include <algorithm>
#include <cmath>

#include "kernels/optimized/layout.h"
#include "kernels/shared/convert.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

using microkernels::BinaryOp;
using microkernels::F16Type;
using microkernels::UnaryOp;

namespace {

constexpr int64_t kChunk = 1024;

}  // namespace

double f16_squared_deviations(F16Type type, const uint16_t* x, int64_t n, float mean) {
  float block[kChunk];
  double sum = 0;
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    microkernels::f16_microkernels().widen(type, x + i, count, block);
    sum += microkernels::f32_microkernels().squared_deviations(block, count, mean);
  }
  return sum;
}

void f16_affine(F16Type type, const F16Affine& affine, const uint16_t* x, uint16_t* y, int64_t n) {
  const microkernels::F16Microkernels& halves = microkernels::f16_microkernels();
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  float block[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    halves.widen(type, x + i, count, block);
    kernels.unary(UnaryOp::Affine, block, block, count, affine.scale, affine.shift);
    if (affine.weight) kernels.binary(BinaryOp::Mul, block, 1, affine.weight + i, 1, block, count, 0);
    if (affine.bias) kernels.binary(BinaryOp::Add, block, 1, affine.bias + i, 1, block, count, 0);
    halves.narrow(type, block, count, y + i);
  }
}

F16Moments f16_moments(F16Type type, const uint16_t* x, int64_t n, double epsilon) {
  const auto size = static_cast<double>(n);
  const float mean = static_cast<float>(microkernels::f16_microkernels().sum(type, x, n) / size);
  const double variance = f16_squared_deviations(type, x, n, mean) / size;
  return {mean, static_cast<float>(1 / std::sqrt(variance + epsilon))};
}

const float* as_float32(KernelRuntimeContext& context, const Tensor& tensor) {
  if (is_row_major_float(tensor)) return tensor.const_data_ptr<float>();
  if (!is_row_major(tensor) || !dtypes::kHalf.contains(tensor.scalar_type())) return nullptr;
  const int64_t n = tensor.numel();
  float* const copy = context.allocate_temporary_array<float>(static_cast<size_t>(n + 1));
  if (copy) load_function(tensor.scalar_type(), ScalarType::Float)(tensor.const_data_ptr(), 1, copy, 1, n);
  return copy;
}

}  // namespace rushlight::optimized
