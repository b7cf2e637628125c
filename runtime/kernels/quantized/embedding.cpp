#include "kernels/quantized/embedding.h"

#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/grouped_weight.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/index_reader.h"
#include "kernels/shared/row_major.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void embed(KernelRuntimeContext& context, int bits, const Tensor& weight, const Tensor& scales,
           const std::optional<Tensor>& zero_points, const Tensor& indices, std::optional<ScalarType> dtype,
           const Tensor& out) {
  GroupedWeight w;
  const ScalarType result = dtype.value_or(scales.scalar_type());
  RL_KERNEL_REQUIRE(context, kRealInputs.contains(scales.scalar_type()) && kRealInputs.contains(result), InvalidType,
                    "scales of dtype %s with results of dtype %s are not supported", dtype_name(scales.scalar_type()),
                    dtype_name(result));
  if (!require_dtype(context, "out", out, result) || !read_weight(context, weight, bits, scales, zero_points, &w) ||
      !require_indices(context, indices, 0, w.rows)) {
    return;
  }
  Shape shape(indices.sizes());
  shape.push(w.columns);
  if (!resize_out(context, out, shape.span())) return;
  const RowMajorInput positions(context, indices);
  RowMajorOutput rows(context, out);
  if (context.failed()) return;
  const IndexReader read = indices.scalar_type() == ScalarType::Long ? IndexReader(positions.data<int64_t>())
                                                                     : IndexReader(positions.data<int32_t>());
  const Convert store = store_function(ScalarType::Float, result);
  const int64_t row_bytes = w.columns * static_cast<int64_t>(out.element_size());
  context.parallel_for(0, indices.numel(), 8192 / (w.columns + 1) + 1, [&](int64_t begin, int64_t end) {
    constexpr int64_t kChunk = 128;
    float values[kChunk];
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t column = 0; column < w.columns; column += kChunk) {
        const int64_t n = w.columns - column < kChunk ? w.columns - column : kChunk;
        for (int64_t j = 0; j < n; ++j) values[j] = w.real(read[i], column + j);
        store(values, 1, rows.data<uint8_t>() + i * row_bytes + column * static_cast<int64_t>(out.element_size()), 1,
              n);
      }
    }
  });
  rows.finish();
}

}  // namespace rushlight::quantized
