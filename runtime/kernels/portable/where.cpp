#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void where_self_out(KernelRuntimeContext& context, const Tensor& condition, const Tensor& a, const Tensor& b,
                    Tensor& out) {
  RL_KERNEL_REQUIRE(context, condition.scalar_type() == ScalarType::Bool || condition.scalar_type() == ScalarType::Byte,
                    InvalidType, "the condition is %s, not bool", dtype_name(condition.scalar_type()));
  elementwise<kinds::kAll>(context, {condition, a, b}, out, result_type(a, b), [](auto) {
    return [](auto chosen, auto x, auto y) { return chosen != decltype(chosen)(0) ? x : y; };
  });
}

}  // namespace rushlight::portable
