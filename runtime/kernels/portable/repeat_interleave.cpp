#include <algorithm>

#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"

namespace rushlight::portable {
namespace {

template <typename T>
void write_indices(KernelRuntimeContext& context, const Tensor& repeats, std::optional<int64_t> output_size,
                   Tensor& out) {
  const T* counts = repeats.const_data_ptr<T>();
  int64_t total = 0;
  for (int64_t i = 0; i < repeats.numel(); ++i) {
    RL_KERNEL_REQUIRE(context, counts[i] >= 0 && counts[i] <= INT32_MAX - total, InvalidArgument,
                      "a repeat is negative, or the repeats are too large");
    total += counts[i];
  }
  RL_KERNEL_REQUIRE(context, !output_size || *output_size == total, InvalidArgument,
                    "the sum of the repeats is %lld, but output_size is %lld", static_cast<long long>(total),
                    static_cast<long long>(output_size.value_or(0)));
  if (!resize_out(context, out, {total})) return;
  T* to = out.mutable_data_ptr<T>();
  for (int64_t i = 0; i < repeats.numel(); ++i) to = std::fill_n(to, counts[i], static_cast<T>(i));
}

}  // namespace

void repeat_interleave_Tensor_out(KernelRuntimeContext& context, const Tensor& repeats,
                                  std::optional<int64_t> output_size, Tensor& out) {
  RL_KERNEL_REQUIRE(context, repeats.dim() == 1, InvalidArgument, "the repeats have rank %lld, not 1",
                    static_cast<long long>(repeats.dim()));
  if (!require_same_dtype(context, repeats, out)) return;
  if (repeats.scalar_type() == ScalarType::Long) {
    write_indices<int64_t>(context, repeats, output_size, out);
  } else if (repeats.scalar_type() == ScalarType::Int) {
    write_indices<int32_t>(context, repeats, output_size, out);
  } else {
    context.fail(Error::InvalidType, "the repeats are %s, not int32 or int64", dtype_name(repeats.scalar_type()));
  }
}

}  // namespace rushlight::portable
