#include "kernels/quantized/grouped_weight.h"

#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/row_major.h"

namespace rushlight::quantized {

float GroupedWeight::real(int64_t row, int64_t column) const {
  const int64_t at = part(row, column);
  float value = static_cast<float>(number(row, column));
  const auto rounded = [this](float x) -> float {
    if (scale_type == ScalarType::Half) return Half(x);
    if (scale_type == ScalarType::BFloat16) return BFloat16(x);
    return x;
  };
  if (zeros) value = rounded(value - static_cast<float>(zeros[at]));
  return rounded(value * static_cast<float>(scales[at]));
}

bool read_weight(KernelRuntimeContext& context, const Tensor& weight, int bits, const Tensor& scales,
                 const std::optional<Tensor>& zero_points, GroupedWeight* result) {
  GroupedWeight& w = *result;
  if (weight.dim() != 2 || !is_byte(weight) || (bits < 8 && weight.scalar_type() != ScalarType::Byte)) {
    context.fail(Error::InvalidArgument, "the weight is %s of rank %lld, not a matrix of %s",
                 dtype_name(weight.scalar_type()), static_cast<long long>(weight.dim()),
                 bits < 8 ? "uint8" : "int8 or uint8");
    return false;
  }
  w.bits = bits;
  w.is_unsigned = weight.scalar_type() == ScalarType::Byte;
  w.rows = weight.size(0);
  w.columns = weight.size(1) * (8 / bits);
  w.scale_type = scales.scalar_type();
  const int64_t groups = scales.dim() == 2 ? scales.size(1) : 1;
  const bool shared = scales.dim() < 2 && scales.numel() == 1;
  if (scales.dim() > 2 || groups == 0 || (!shared && scales.numel() != w.rows * groups) || w.columns % groups != 0 ||
      (zero_points && zero_points->numel() != scales.numel())) {
    context.fail(Error::InvalidArgument, "%lld scales do not fit a weight of shape [%lld, %lld]",
                 static_cast<long long>(scales.numel()), static_cast<long long>(w.rows),
                 static_cast<long long>(w.columns));
    return false;
  }
  w.group = w.columns / groups > 0 ? w.columns / groups : 1;
  w.scale_step = shared && w.rows != 1 ? 0 : groups;
  const RowMajorInput numbers(context, weight);
  w.data = numbers.data<uint8_t>();
  w.row_stride = weight.size(1);
  w.scales = elements_as_double(context, scales);
  if (zero_points) w.zeros = elements_as_double(context, *zero_points);
  return !context.failed();
}

void dequantized_linear(KernelRuntimeContext& context, const Tensor& in, const GroupedWeight& weight,
                        const std::optional<Tensor>& bias, const Tensor& out) {
  const int64_t depth = weight.columns, columns = weight.rows;
  if (out.numel() == 0) return;
  const int64_t rows = out.numel() / columns;
  const RowMajorInput inputs(context, in);
  RowMajorOutput results(context, out);
  const double* const offsets = bias ? elements_as_double(context, *bias) : nullptr;
  if (context.failed()) return;
  const Convert load = load_function(in.scalar_type(), ScalarType::Float);
  const Convert store = store_function(ScalarType::Float, out.scalar_type());
  const bool half = in.element_size() == 2;
  float* const x = context.allocate_temporary_array<float>(static_cast<size_t>(rows * depth + 1));
  if (x == nullptr) return;
  load(inputs.data(), 1, x, 1, rows * depth);
  context.parallel_for(0, columns, 8192 / (rows * depth + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        float sum = 0;
        for (int64_t l = 0; l < depth; ++l) {
          float w = weight.real(j, l);
          if (half) narrow_to(in.scalar_type(), &w, 1);
          sum += x[i * depth + l] * w;
        }
        if (offsets) sum += static_cast<float>(offsets[j]);
        store(&sum, 1, results.data<uint8_t>() + (i * columns + j) * static_cast<int64_t>(out.element_size()), 1, 1);
      }
    }
  });
  results.finish();
}

}  // namespace rushlight::quantized
