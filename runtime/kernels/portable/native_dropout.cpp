#include <optional>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/random.h"

namespace rushlight::portable {

void native_dropout_out(KernelRuntimeContext& context, const Tensor& in, double p, std::optional<bool> train,
                        Tensor& out, Tensor& mask) {
  RL_KERNEL_REQUIRE(context, p >= 0 && p <= 1, InvalidArgument, "the probability %g is not between 0 and 1", p);
  if (!resize_out_like(context, out, in) || !resize_out_like(context, mask, in)) return;
  if (!train.value_or(true)) {
    convert_copy(context, in, out);
    return fill_scalar_out(context, mask, Scalar(true), mask);
  }
  // `mask` keeps an element with probability 1 - p. Kept elements are scaled by 1 / (1 - p), which preserves the mean.
  RL_KERNEL_REQUIRE(context, mask.scalar_type() == ScalarType::Bool, InvalidType, "the mask is %s, not bool",
                    dtype_name(mask.scalar_type()));
  const RandomStream stream = next_random_stream();
  bool* keeps = mask.mutable_data_ptr<bool>();
  for (int64_t i = 0; i < mask.numel(); ++i) keeps[i] = stream.uniform_double(static_cast<uint64_t>(i)) >= p;
  const double scale = p < 1 ? 1 / (1 - p) : 0;
  elementwise<kinds::kFloating>(context, {in, mask}, out, in.scalar_type(), [&](auto c) {
    using C = decltype(c);
    return [scale = static_cast<C>(scale)](C x, C kept) { return x * kept * scale; };
  });
}

}  // namespace rushlight::portable
