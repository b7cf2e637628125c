#include "kernels/portable/index.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/index_slices.h"

namespace rushlight::portable {

void index_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                    const Tensor& source, Tensor& out) {
  int64_t axis;
  if (!begin_index_slices(context, in, dim, index, source, out, &axis)) return;
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_in_slices(index, axis, source, out, [&](int64_t read, int64_t write) {
      out.mutable_data_ptr<T>()[write] = source.const_data_ptr<T>()[read];
    });
  });
}

}  // namespace rushlight::portable
