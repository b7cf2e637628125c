#include "kernels/portable/index.h"
#include "kernels/shared/accumulator.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/element.h"
#include "kernels/shared/index_slices.h"

namespace rushlight::portable {

void index_add_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                   const Tensor& source, const Scalar& alpha, Tensor& out) {
  int64_t axis;
  if (!begin_index_slices(context, in, dim, index, source, out, &axis)) return;
  static constexpr DtypeSet kTypes =
      dtypes::kRealHB | DtypeSet(ScalarType::ComplexFloat, ScalarType::ComplexDouble, ScalarType::ComplexHalf);
  switch_dtype<kTypes>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Number = AccumulatorOf<T>;
    const Number scale = static_cast<Number>(alpha.to<NumberOf<Number>>());
    T* to = out.mutable_data_ptr<T>();
    const T* from = source.const_data_ptr<T>();
    for_each_in_slices(index, axis, source, out, [&](int64_t read, int64_t write) {
      if constexpr (std::is_same_v<T, bool>) {
        to[write] = element(to + write) || (element(from + read) && scale != 0);
      } else {
        to[write] = static_cast<T>(static_cast<Number>(to[write]) + scale * static_cast<Number>(from[read]));
      }
    });
  });
}

}  // namespace rushlight::portable
