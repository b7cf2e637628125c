#include <initializer_list>
#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/accumulate.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

namespace {

struct Problem {
  const Tensor &grad, &in, &mean, &rstd;
  const std::optional<Tensor>& weight;
  const Tensor *grad_in, *grad_weight, *grad_bias;  // null if the gradient is not requested
  int64_t n, c, spatial, groups;
};

double element(const Tensor& tensor, int64_t index) {
  double value;
  load_function(tensor.scalar_type(), ScalarType::Double)(at(tensor, index), 1, &value, 1, 1);
  return value;
}

// All tensors are row-major.
void run(KernelRuntimeContext& context, const Problem& p) {
  constexpr int64_t kBlock = 128;
  const int64_t channels_per_group = p.c / p.groups, group_size = channels_per_group * p.spatial;
  // Sums over a channel of an image: of the gradient, and of the gradient times the normalized input.
  double* sums = context.allocate_temporary_array<double>(static_cast<size_t>(2 * p.c + 2 * channels_per_group));
  if (!sums) return;
  double *weight_sum = sums, *bias_sum = sums + p.c, *channel = sums + 2 * p.c;
  for (int64_t i = 0; i < 2 * p.c; ++i) sums[i] = 0;
  const Convert load_grad = load_function(p.grad.scalar_type(), ScalarType::Double);
  const Convert load_in = load_function(p.in.scalar_type(), ScalarType::Double);
  double g[kBlock], x[kBlock];
  const auto for_each_block = [&](int64_t offset, const auto& body) {
    for (int64_t first = 0; first < p.spatial; first += kBlock) {
      const int64_t count = p.spatial - first < kBlock ? p.spatial - first : kBlock;
      load_grad(at(p.grad, offset + first), 1, g, 1, count);
      load_in(at(p.in, offset + first), 1, x, 1, count);
      body(first, count);
    }
  };
  for (int64_t row = 0; row < p.n * p.groups; ++row) {
    const double mean = element(p.mean, row), rstd = element(p.rstd, row);
    const int64_t first_channel = row % p.groups * channels_per_group;
    double sum = 0, product = 0;  // sums of the weighted gradient, without and with the normalized input as factor
    for (int64_t i = 0; i < channels_per_group; ++i) {
      double grad_sum = 0, grad_product = 0;
      for_each_block((row * channels_per_group + i) * p.spatial, [&](int64_t, int64_t count) {
        grad_sum += sum_of(count, [&](int64_t k) { return g[k]; });
        grad_product += sum_of(count, [&](int64_t k) { return g[k] * (x[k] - mean) * rstd; });
      });
      weight_sum[first_channel + i] += grad_product;
      bias_sum[first_channel + i] += grad_sum;
      channel[i] = p.weight ? element(*p.weight, first_channel + i) : 1;
      sum += grad_sum * channel[i];
      product += grad_product * channel[i];
    }
    if (!p.grad_in) continue;
    const Convert store = store_function(ScalarType::Double, p.grad_in->scalar_type());
    const double count_all = static_cast<double>(group_size);
    for (int64_t i = 0; i < channels_per_group; ++i) {
      const int64_t offset = (row * channels_per_group + i) * p.spatial;
      for_each_block(offset, [&](int64_t first, int64_t count) {
        for (int64_t k = 0; k < count; ++k) {
          const double normalized = (x[k] - mean) * rstd;
          x[k] = rstd * (g[k] * channel[i] - sum / count_all - normalized * product / count_all);
        }
        store(x, 1, at(*p.grad_in, offset + first), 1, count);
      });
    }
  }
  const auto store = [&](const double* values, const Tensor& out) {
    store_function(ScalarType::Double, out.scalar_type())(values, 1, at(out, 0), 1, p.c);
  };
  if (p.grad_weight) store(weight_sum, *p.grad_weight);
  if (p.grad_bias) store(bias_sum, *p.grad_bias);
}

}  // namespace

void native_group_norm_backward_out(KernelRuntimeContext& context, const Tensor& grad, const Tensor& in,
                                    const Tensor& mean, const Tensor& rstd, const std::optional<Tensor>& weight,
                                    int64_t n, int64_t c, int64_t spatial, int64_t group, Span<const bool> output_mask,
                                    Tensor& grad_in, Tensor& grad_weight, Tensor& grad_bias) {
  RL_KERNEL_REQUIRE(context, output_mask.size() == 3, InvalidArgument, "output_mask does not have three items");
  RL_KERNEL_REQUIRE(context, in.numel() == n * c * spatial && same_shape(grad, in) && group > 0 && c % group == 0,
                    InvalidArgument, "N, C, HxW or group does not match the shape of the input");
  RL_KERNEL_REQUIRE(context,
                    mean.numel() == n * group && rstd.numel() == n * group && (!weight || weight->numel() == c),
                    InvalidArgument, "mean, rstd or weight does not match the shape of the input");
  for (const Tensor& tensor : {grad, in, mean, rstd, grad_in}) {
    RL_KERNEL_REQUIRE(context, is_contiguous_dim_order(tensor.dim_order()), NotSupported, "tensors must be contiguous");
  }
  if (output_mask[0] && !resize_out_like(context, grad_in, in)) return;
  if (output_mask[1] && !resize_out(context, grad_weight, {c})) return;
  if (output_mask[2] && !resize_out(context, grad_bias, {c})) return;
  run(context, {grad, in, mean, rstd, weight, output_mask[0] ? &grad_in : nullptr,
                output_mask[1] ? &grad_weight : nullptr, output_mask[2] ? &grad_bias : nullptr, n, c, spatial, group});
}

}  // namespace rushlight::portable
