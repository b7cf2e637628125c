#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void bincount_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& weights,
                  int64_t minlength, Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() == 1, InvalidArgument, "bincount needs a vector, not a tensor of rank %lld",
                    static_cast<long long>(in.dim()));
  RL_KERNEL_REQUIRE(context, minlength >= 0, InvalidArgument, "minlength %lld is negative",
                    static_cast<long long>(minlength));
  RL_KERNEL_REQUIRE(context, !weights || weights->numel() == in.numel(), InvalidArgument,
                    "%lld weights do not match %lld numbers", static_cast<long long>(weights ? weights->numel() : 0),
                    static_cast<long long>(in.numel()));
  switch_dtype<dtypes::kInt>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* numbers = in.const_data_ptr<T>();
    int64_t bins = minlength;
    for (int64_t i = 0; i < in.numel(); ++i) {
      const int64_t number = static_cast<int64_t>(numbers[i]);
      RL_KERNEL_REQUIRE(context, number >= 0 && number < INT32_MAX, InvalidArgument, "number %lld cannot be counted",
                        static_cast<long long>(number));
      bins = number >= bins ? number + 1 : bins;
    }
    if (!resize_out(context, out, {bins})) return;
    const auto count = [&](auto* counts, const auto& weight) {
      for (int64_t i = 0; i < bins; ++i) counts[i] = 0;
      for (int64_t i = 0; i < in.numel(); ++i) counts[static_cast<int64_t>(numbers[i])] += weight(i);
    };
    if (!weights) {
      RL_KERNEL_REQUIRE(context, out.scalar_type() == ScalarType::Long, InvalidType, "counts have dtype int64, not %s",
                        dtype_name(out.scalar_type()));
      return count(out.mutable_data_ptr<int64_t>(), [](int64_t) { return 1; });
    }
    if (out.scalar_type() == ScalarType::Float && weights->scalar_type() == ScalarType::Float) {
      const float* w = weights->const_data_ptr<float>();
      return count(out.mutable_data_ptr<float>(), [w](int64_t i) { return w[i]; });
    }
    RL_KERNEL_REQUIRE(context, out.scalar_type() == ScalarType::Double, InvalidType,
                      "sums of %s weights have dtype float64, not %s", dtype_name(weights->scalar_type()),
                      dtype_name(out.scalar_type()));
    switch_dtype<dtypes::kReal>(context, weights->scalar_type(), [&](auto weight_tag) {
      using W = typename decltype(weight_tag)::type;
      const W* w = weights->const_data_ptr<W>();
      count(out.mutable_data_ptr<double>(), [w](int64_t i) { return static_cast<double>(w[i]); });
    });
  });
}

}  // namespace rushlight::portable
