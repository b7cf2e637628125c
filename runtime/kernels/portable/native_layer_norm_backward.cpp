#include <initializer_list>
#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

namespace {

struct Problem {
  const Tensor &grad, &in, &mean, &rstd;
  const std::optional<Tensor>& weight;
  const Tensor *grad_in, *grad_weight, *grad_bias;  // null if the gradient is not requested
  int64_t rows, length;
};

// All tensors are row-major. Each row of `length` elements has one mean and one rstd.
template <typename C>
void run(KernelRuntimeContext& context, const Problem& p) {
  constexpr ScalarType kCompute = scalar_type_of<C>;
  const size_t length = static_cast<size_t>(p.length);
  double* weight_sum = context.allocate_temporary_array<double>(2 * length);
  C* buffers = context.allocate_temporary_array<C>(3 * length);
  if (!weight_sum || !buffers) return;
  double* bias_sum = weight_sum + length;
  C *grad = buffers, *x = buffers + length, *weight = buffers + 2 * length;
  for (size_t i = 0; i < length; ++i) {
    weight_sum[i] = bias_sum[i] = 0;
    weight[i] = C(1);
  }
  if (p.weight) load_function(p.weight->scalar_type(), kCompute)(p.weight->const_data_ptr(), 1, weight, 1, p.length);
  const Convert load_grad = load_function(p.grad.scalar_type(), kCompute);
  const Convert load_in = load_function(p.in.scalar_type(), kCompute);
  for (int64_t row = 0; row < p.rows; ++row) {
    double mean, rstd;
    load_function(p.mean.scalar_type(), ScalarType::Double)(at(p.mean, row), 1, &mean, 1, 1);
    load_function(p.rstd.scalar_type(), ScalarType::Double)(at(p.rstd, row), 1, &rstd, 1, 1);
    load_grad(at(p.grad, row * p.length), 1, grad, 1, p.length);
    load_in(at(p.in, row * p.length), 1, x, 1, p.length);
    double sum = 0, product = 0;  // sums of the weighted gradient, without and with the normalized input as factor
    for (size_t i = 0; i < length; ++i) {
      const double normalized = (static_cast<double>(x[i]) - mean) * rstd, g = static_cast<double>(grad[i]);
      weight_sum[i] += g * normalized;
      bias_sum[i] += g;
      sum += g * static_cast<double>(weight[i]);
      product += g * static_cast<double>(weight[i]) * normalized;
    }
    if (!p.grad_in) continue;
    const double count = static_cast<double>(p.length);
    for (size_t i = 0; i < length; ++i) {
      const double normalized = (static_cast<double>(x[i]) - mean) * rstd;
      const double weighted = static_cast<double>(grad[i]) * static_cast<double>(weight[i]);
      x[i] = static_cast<C>(rstd * (weighted - sum / count - normalized * product / count));
    }
    store_function(kCompute, p.grad_in->scalar_type())(x, 1, at(*p.grad_in, row * p.length), 1, p.length);
  }
  const auto store = [&](const double* values, const Tensor& out) {
    store_function(ScalarType::Double, out.scalar_type())(values, 1, at(out, 0), 1, p.length);
  };
  if (p.grad_weight) store(weight_sum, *p.grad_weight);
  if (p.grad_bias) store(bias_sum, *p.grad_bias);
}

}  // namespace

void native_layer_norm_backward_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& in,
                                    Span<const int64_t> normalized_shape, const Tensor& mean, const Tensor& rstd,
                                    const std::optional<Tensor>& weight, const std::optional<Tensor>&,
                                    Span<const bool> output_mask, Tensor& grad_in, Tensor& grad_weight,
                                    Tensor& grad_bias) {
  const int64_t lead = in.dim() - static_cast<int64_t>(normalized_shape.size());
  RL_KERNEL_REQUIRE(context, output_mask.size() == 3, InvalidArgument, "output_mask does not have three items");
  RL_KERNEL_REQUIRE(context, lead >= 0 && same_shape(grad, in), InvalidArgument,
                    "the gradient or normalized_shape does not match the shape of the input");
  int64_t rows = 1, length = 1;
  Shape shape;
  for (int64_t d = 0; d < in.dim(); ++d) {
    (d < lead ? rows : length) *= in.size(d);
    if (d >= lead) shape.push(in.size(d));
  }
  RL_KERNEL_REQUIRE(context, mean.numel() == rows && rstd.numel() == rows && (!weight || weight->numel() == length),
                    InvalidArgument, "mean, rstd or weight does not match the shape of the input");
  for (const Tensor& tensor : {grad, in, mean, rstd, grad_in}) {
    RL_KERNEL_REQUIRE(context, is_contiguous_dim_order(tensor.dim_order()), NotSupported, "tensors must be contiguous");
  }
  if (output_mask[0] && !resize_out_like(context, grad_in, in)) return;
  if (output_mask[1] && !resize_out(context, grad_weight, shape.span())) return;
  if (output_mask[2] && !resize_out(context, grad_bias, shape.span())) return;
  const Problem problem{grad,
                        in,
                        mean,
                        rstd,
                        weight,
                        output_mask[0] ? &grad_in : nullptr,
                        output_mask[1] ? &grad_weight : nullptr,
                        output_mask[2] ? &grad_bias : nullptr,
                        rows,
                        length};
  switch_compute<kinds::kFloating>(context, in.scalar_type(),
                                   [&](auto tag) { run<typename decltype(tag)::type>(context, problem); });
}

}  // namespace rushlight::portable
