#include "kernels/portable/index.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/index_reader.h"
#include "kernels/shared/row_major.h"

namespace rushlight::portable {

void take_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& index, Tensor& out) {
  if (!require_indices(context, index, -in.numel(), in.numel()) || !require_same_dtype(context, in, out)) return;
  if (!resize_out(context, out, index.sizes())) return;
  const RowMajorInput source(context, in), places(context, index);
  RowMajorOutput target(context, out);
  if (context.failed()) return;
  const IndexReader positions = index.scalar_type() == ScalarType::Long ? IndexReader(places.data<int64_t>())
                                                                        : IndexReader(places.data<int32_t>());
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < index.numel(); ++i) {
      const int64_t position = positions[i];
      target.data<T>()[i] = source.data<T>()[position < 0 ? position + in.numel() : position];
    }
  });
  target.finish();
}

}  // namespace rushlight::portable
