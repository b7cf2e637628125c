#include "kernels/portable/reduction.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/rows.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void cummax_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, Tensor& values, Tensor& indices) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !resize_out_like(context, values, in) ||
      !resize_out_like(context, indices, in)) {
    return;
  }
  switch_compute<kinds::kReal>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Rows rows({in, values, indices}, axis);
    const Convert load = load_function(in.scalar_type(), scalar_type_of<C>);
    const Convert store_value = store_function(scalar_type_of<C>, values.scalar_type());
    const Convert store_index = store_function(ScalarType::Long, indices.scalar_type());
    rows.for_each(context, [&](const int64_t* offsets) {
      C best{};
      int64_t index = 0;
      for (int64_t i = 0; i < rows.length(0); ++i) {
        C x;
        load(at(in, offsets[0] + i * rows.stride(0)), 1, &x, 1, 1);
        // The last of equal elements; a NaN stays.
        if (i == 0 || x != x || x >= best) {
          best = x;
          index = i;
        }
        store_value(&best, 1, at(values, offsets[1] + i * rows.stride(1)), 1, 1);
        store_index(&index, 1, at(indices, offsets[2] + i * rows.stride(2)), 1, 1);
      }
    });
  });
}

}  // namespace rushlight::portable
