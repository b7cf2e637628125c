#include "kernels/portable/index.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/element.h"

namespace rushlight::portable {

void nonzero_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  RL_KERNEL_REQUIRE(context, out.scalar_type() == ScalarType::Long, InvalidArgument,
                    "the positions have dtype int64, not %s", dtype_name(out.scalar_type()));
  static constexpr DtypeSet kTypes = dtypes::kAll;
  switch_dtype<kTypes>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = in.const_data_ptr<T>();
    const auto holds = [&](int64_t i) {
      if constexpr (std::is_same_v<T, ComplexHalf>) {
        return static_cast<ComplexFloat>(data[i]) != ComplexFloat(0);
      } else {
        return element(data + i) != T(0);
      }
    };
    int64_t count = 0;
    for (int64_t i = 0; i < in.numel(); ++i) count += holds(i);
    if (!resize_out(context, out, {count, in.dim()})) return;
    int64_t* row = out.mutable_data_ptr<int64_t>();
    int64_t index[kMaxDim] = {};
    int64_t offset = 0;
    for (int64_t i = 0; i < in.numel(); ++i) {
      if (holds(offset)) {
        for (int64_t d = 0; d < in.dim(); ++d) row[d * out.stride(1)] = index[d];
        row += out.stride(0);
      }
      for (int64_t d = in.dim() - 1; d >= 0; --d) {
        offset += in.stride(d);
        if (++index[d] < in.size(d)) break;
        offset -= in.size(d) * in.stride(d);
        index[d] = 0;
      }
    }
  });
}

}  // namespace rushlight::portable
