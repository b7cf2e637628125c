#include "kernels/portable/reduction.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/reduce.h"
#include "kernels/shared/vector_norm.h"

namespace rushlight::portable {

void pdist_forward_out(KernelRuntimeContext& context, const Tensor& in, double p, Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() == 2, InvalidArgument, "the points have rank %lld, not 2",
                    static_cast<long long>(in.dim()));
  RL_KERNEL_REQUIRE(context, p >= 0, InvalidArgument, "p is negative");
  const int64_t points = in.size(0), length = in.size(1);
  if (!resize_out(context, out, {points > 0 ? points * (points - 1) / 2 : 0})) return;
  const PowerSum power(p);
  switch_dtype<dtypes::kFloatH>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = in.const_data_ptr<T>();
    const Convert store = store_function(ScalarType::Double, out.scalar_type());
    int64_t pair = 0;
    for (int64_t i = 0; i < points; ++i) {
      for (int64_t j = i + 1; j < points; ++j) {
        const T *x = data + i * in.stride(0), *y = data + j * in.stride(0);
        const double sum = power.add(power.start(), length, [&](int64_t k) {
          return static_cast<double>(x[k * in.stride(1)]) - static_cast<double>(y[k * in.stride(1)]);
        });
        const double distance = length > 0 ? power.finish(sum) : 0;
        store(&distance, 1, at(out, pair++), 1, 1);
      }
    }
  });
}

}  // namespace rushlight::portable
