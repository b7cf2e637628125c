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
  int64_t n, c, spatial, groups;                    // the input is [n, c, spatial]; mean and rstd are [n, groups]
};

double element(const Tensor& tensor, int64_t index) {
  double value;
  load_function(tensor.scalar_type(), ScalarType::Double)(at(tensor, index), 1, &value, 1, 1);
  return value;
}

// Computes the requested gradients. All tensors are row-major.
class GroupNormBackward {
 public:
  explicit GroupNormBackward(const Problem& p) : p_(p) {}

  void run(KernelRuntimeContext& context) {
    double* const sums = context.allocate_temporary_array<double>(static_cast<size_t>(2 * p_.c + 2 * group_channels_));
    if (!sums) return;
    for (int64_t i = 0; i < 2 * p_.c; ++i) sums[i] = 0;
    weight_sums_ = sums, bias_sums_ = sums + p_.c, group_weights_ = sums + 2 * p_.c;
    for (int64_t row = 0; row < p_.n * p_.groups; ++row) {
      const Group group = add_group(row);
      if (p_.grad_in) store_input_gradient(row, group);
    }
    if (p_.grad_weight) store(weight_sums_, *p_.grad_weight);
    if (p_.grad_bias) store(bias_sums_, *p_.grad_bias);
  }

 private:
  static constexpr int64_t kBlock = 128;

  // The statistics of a group of channels of an image, and the sums of its gradients times the weight, without and with
  // the normalized input as a factor.
  struct Group {
    double mean, rstd;
    double sum = 0, product = 0;
  };

  // Calls body(offset, count) for each block of channel `i` of a group, after loading the block into g_ and x_.
  template <typename Body>
  void for_each_block(int64_t row, int64_t i, const Body& body) {
    const int64_t begin = (row * group_channels_ + i) * p_.spatial;
    for (int64_t first = 0; first < p_.spatial; first += kBlock) {
      const int64_t count = p_.spatial - first < kBlock ? p_.spatial - first : kBlock;
      load_grad_(at(p_.grad, begin + first), 1, g_, 1, count);
      load_in_(at(p_.in, begin + first), 1, x_, 1, count);
      body(begin + first, count);
    }
  }

  // Adds a group to the gradients of the weight and the bias, and sets group_weights_.
  Group add_group(int64_t row) {
    Group group{element(p_.mean, row), element(p_.rstd, row)};
    const int64_t first_channel = row % p_.groups * group_channels_;
    for (int64_t i = 0; i < group_channels_; ++i) {
      double sum = 0, product = 0;
      for_each_block(row, i, [&](int64_t, int64_t count) {
        sum += sum_of(count, [&](int64_t k) { return g_[k]; });
        product += sum_of(count, [&](int64_t k) { return g_[k] * (x_[k] - group.mean) * group.rstd; });
      });
      weight_sums_[first_channel + i] += product;
      bias_sums_[first_channel + i] += sum;
      group_weights_[i] = p_.weight ? element(*p_.weight, first_channel + i) : 1;
      group.sum += sum * group_weights_[i];
      group.product += product * group_weights_[i];
    }
    return group;
  }

  void store_input_gradient(int64_t row, const Group& group) {
    const Convert store = store_function(ScalarType::Double, p_.grad_in->scalar_type());
    const double size = static_cast<double>(group_channels_ * p_.spatial);
    for (int64_t i = 0; i < group_channels_; ++i) {
      for_each_block(row, i, [&](int64_t offset, int64_t count) {
        for (int64_t k = 0; k < count; ++k) {
          const double normalized = (x_[k] - group.mean) * group.rstd;
          x_[k] = group.rstd * (g_[k] * group_weights_[i] - group.sum / size - normalized * group.product / size);
        }
        store(x_, 1, at(*p_.grad_in, offset), 1, count);
      });
    }
  }

  // Stores a number for each channel.
  void store(const double* values, const Tensor& out) const {
    store_function(ScalarType::Double, out.scalar_type())(values, 1, at(out, 0), 1, p_.c);
  }

  const Problem& p_;
  const int64_t group_channels_ = p_.c / p_.groups;
  const Convert load_grad_ = load_function(p_.grad.scalar_type(), ScalarType::Double);
  const Convert load_in_ = load_function(p_.in.scalar_type(), ScalarType::Double);
  double* weight_sums_ = nullptr;    // [c]: sums of the gradient times the normalized input
  double* bias_sums_ = nullptr;      // [c]: sums of the gradient
  double* group_weights_ = nullptr;  // [group_channels_]: the weights of the channels of the group
  double g_[kBlock], x_[kBlock];     // the gradient and the input of a block
};

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
  const Problem problem{grad,
                        in,
                        mean,
                        rstd,
                        weight,
                        output_mask[0] ? &grad_in : nullptr,
                        output_mask[1] ? &grad_weight : nullptr,
                        output_mask[2] ? &grad_bias : nullptr,
                        n,
                        c,
                        spatial,
                        group};
  GroupNormBackward(problem).run(context);
}

}  // namespace rushlight::portable
