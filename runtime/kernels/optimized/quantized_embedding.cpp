#include "kernels/optimized/grouped_rows.h"
#include "kernels/optimized/quantized.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/index_reader.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

namespace {

constexpr int64_t kSerialNumbers = 16 * 1024;

bool embed(KernelRuntimeContext& context, int bits, const Tensor& weight, const Tensor& scales,
           const std::optional<Tensor>& zero_points, const Tensor& indices, std::optional<ScalarType> dtype,
           const Tensor& out) {
  GroupedRows w;
  const ScalarType result = dtype.value_or(ScalarType::Float);
  if (!is_row_major(indices) || !is_row_major(out) || !quantized::kRealInputs.contains(result) ||
      !read_rows(weight, bits, scales, zero_points, &w)) {
    return false;
  }
  if (!quantized::require_dtype(context, "out", out, result) || !require_indices(context, indices, 0, w.rows)) {
    return true;
  }
  Shape shape(indices.sizes());
  shape.push(w.columns);
  if (!resize_out(context, out, shape.span())) return true;
  const IndexReader rows(indices);
  if (result == ScalarType::Float) {
    context.parallel_for(0, indices.numel(), kSerialNumbers / w.columns + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) w.read(rows[i], out.mutable_data_ptr<float>() + i * w.columns);
    });
    return true;
  }
  const Convert store = store_function(ScalarType::Float, result);
  const int64_t workers = indices.numel() * w.columns < kSerialNumbers ? 1 : microkernels::worker_count(context);
  float* const values = context.allocate_temporary_array<float>(static_cast<size_t>(workers * w.columns));
  if (values == nullptr) return true;
  microkernels::for_workers(context, workers, indices.numel(), [&](int64_t worker, int64_t begin, int64_t end) {
    float* const row = values + worker * w.columns;
    for (int64_t i = begin; i < end; ++i) {
      w.read(rows[i], row);
      store(row, 1, out.mutable_data_ptr<uint8_t>() + i * w.columns * static_cast<int64_t>(out.element_size()), 1,
            w.columns);
    }
  });
  return true;
}

}  // namespace

bool embedding_4bit_dtype_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                              const std::optional<Tensor>& zero_points, int64_t, int64_t, const Tensor& indices,
                              std::optional<ScalarType> dtype, Tensor& out) {
  return embed(context, 4, weight, scales, zero_points, indices, dtype, out);
}

bool embedding_4bit_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                        const std::optional<Tensor>& zero_points, int64_t, int64_t, const Tensor& indices,
                        Tensor& out) {
  return embed(context, 4, weight, scales, zero_points, indices, std::nullopt, out);
}

bool embedding_byte_dtype_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                              const std::optional<Tensor>& zero_points, int64_t, int64_t, const Tensor& indices,
                              std::optional<ScalarType> dtype, Tensor& out) {
  return embed(context, 8, weight, scales, zero_points, indices, dtype, out);
}

bool embedding_byte_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                        const std::optional<Tensor>& zero_points, int64_t, int64_t, const Tensor& indices,
                        Tensor& out) {
  return embed(context, 8, weight, scales, zero_points, indices, std::nullopt, out);
}

}  // namespace rushlight::optimized
