#include <algorithm>
#include <cmath>

#include "kernels/portable/llm.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {
namespace {

// Multiplies a row of 28 groups of `stride` elements by the Hadamard matrix of order 28 in Williamson's form. Its 4 x 4
// blocks are symmetric circulant matrices; the block in row r and column c has the number r ^ c.
void multiply_28(float* row, int64_t stride) {
  constexpr int kNegative = 0x3950;  // The bit 4 r + c is set if this block is negative.
  for (float* const end = row + stride; row != end; ++row) {
    float sums[28];
    for (int i = 0; i < 28; ++i) {
      sums[i] = 0;
      for (int j = 0; j < 28; ++j) {
        const int block = (i / 7) ^ (j / 7), offset = (i + 7 - j % 7) % 7;
        const bool positive = offset == 0 || (block != 0 && (offset == block || offset == 7 - block));
        const bool negative = (kNegative >> (i / 7 * 4 + j / 7) & 1) != 0;
        sums[i] += positive != negative ? row[j * stride] : -row[j * stride];
      }
    }
    for (int i = 0; i < 28; ++i) row[i * stride] = sums[i];
  }
}

}  // namespace

void fast_hadamard_transform_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  const int64_t size = in.dim() > 0 ? in.size(in.dim() - 1) : 0;
  const int64_t group = size % 28 == 0 ? size / 28 : size;
  RL_KERNEL_REQUIRE(
      context, group > 0 && (group & (group - 1)) == 0 && is_contiguous_dim_order(in.dim_order()), InvalidArgument,
      "the rows of a Hadamard transform need a power of two elements, or 28 times a power of two, not %lld",
      static_cast<long long>(size));
  if (!resize_out_like(context, out, in)) return;
  float* row = out.mutable_data_ptr<float>();
  const float* from = in.const_data_ptr<float>();
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(group)));
  for (float* const end = row + in.numel(); row != end; row += size, from += size) {
    std::copy_n(from, size, row);
    for (int64_t half = 1; half < group; half *= 2) {
      for (int64_t i = 0; i < size; ++i) {
        if (i & half) continue;
        const float a = row[i], b = row[i + half];
        row[i] = a + b;
        row[i + half] = a - b;
      }
    }
    if (group != size) multiply_28(row, group);
    for (int64_t i = 0; i < size; ++i) row[i] *= factor;
  }
}

}  // namespace rushlight::portable
