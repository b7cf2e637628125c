#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/grouped_weight.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/row_major.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

// Multiplies input [M, K] by weight [K, N], which has scales per row or per group of a row.
void mixed_mm_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight, const Tensor& weight_scales,
                  const std::optional<Tensor>& zero_points, Tensor& out) {
  GroupedWeight w;
  if (!require_dtype(context, "out", out, in.scalar_type()) ||
      !read_weight(context, weight, 8, weight_scales, zero_points, &w)) {
    return;
  }
  RL_KERNEL_REQUIRE(context, in.dim() == 2 && in.size(1) == w.rows, InvalidArgument,
                    "the input is not a matrix of %lld columns", static_cast<long long>(w.rows));
  if (!resize_out(context, out, {in.size(0), w.columns})) return;
  const RowMajorInput inputs(context, in);
  RowMajorOutput results(context, out);
  const int64_t rows = in.size(0), depth = w.rows;
  float* const x = context.allocate_temporary_array<float>(static_cast<size_t>(rows * depth + 1));
  if (context.failed()) return;
  load_function(in.scalar_type(), ScalarType::Float)(inputs.data(), 1, x, 1, rows * depth);
  const Convert store = store_function(ScalarType::Float, out.scalar_type());
  const bool half = in.element_size() == 2;
  const auto element = static_cast<int64_t>(out.element_size());
  context.parallel_for(0, w.columns, 8192 / (rows * depth + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        float sum = 0;
        for (int64_t l = 0; l < depth; ++l) {
          float real = w.real(l, j);
          if (half) narrow_to(in.scalar_type(), &real, 1);
          sum += x[i * depth + l] * real;
        }
        store(&sum, 1, results.data<uint8_t>() + (i * w.columns + j) * element, 1, 1);
      }
    }
  });
  results.finish();
}

}  // namespace rushlight::quantized
