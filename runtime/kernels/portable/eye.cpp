#include "kernels/portable/create.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void eye_m_out(KernelRuntimeContext& context, int64_t n, int64_t m, Tensor& out) {
  RL_KERNEL_REQUIRE(context, n >= 0 && m >= 0, InvalidArgument, "a matrix cannot have %lld rows and %lld columns",
                    static_cast<long long>(n), static_cast<long long>(m));
  if (!resize_out(context, out, {n, m})) return;
  fill_tensor(context, out, 0);
  for (int64_t i = 0; i < n && i < m; ++i)
    store_number(1, out.scalar_type(), at(out, i * (out.stride(0) + out.stride(1))));
}

void eye_out(KernelRuntimeContext& context, int64_t n, Tensor& out) { eye_m_out(context, n, n, out); }

}  // namespace rushlight::portable
