#include <cstring>

#include "kernels/portable/index.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/index_slices.h"

namespace rushlight::portable {
namespace {

void fill_slices(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                 const uint8_t* element, Tensor& out) {
  int64_t axis;
  if (!begin_index_slices(context, in, dim, index, in, out, &axis)) return;
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, element, sizeof(T));
    for_each_in_slices(index, axis, out, out,
                       [&](int64_t, int64_t write) { out.mutable_data_ptr<T>()[write] = value; });
  });
}

}  // namespace

void index_fill_int_Scalar_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                               const Scalar& value, Tensor& out) {
  alignas(16) uint8_t element[kMaxElementSize];
  store_number(value, in.scalar_type(), element);
  fill_slices(context, in, dim, index, element, out);
}

void index_fill_int_Tensor_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                               const Tensor& value, Tensor& out) {
  RL_KERNEL_REQUIRE(context, value.dim() == 0, InvalidArgument, "the value has rank %lld, not 0",
                    static_cast<long long>(value.dim()));
  const ScalarType compute = compute_type(value.scalar_type());
  alignas(16) uint8_t number[kMaxElementSize], element[kMaxElementSize];
  load_function(value.scalar_type(), compute)(value.const_data_ptr(), 1, number, 1, 1);
  store_function(compute, in.scalar_type())(number, 1, element, 1, 1);
  fill_slices(context, in, dim, index, element, out);
}

}  // namespace rushlight::portable
