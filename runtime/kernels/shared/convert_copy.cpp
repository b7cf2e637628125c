#include "kernels/shared/convert_copy.h"

#include <cstring>

#include "kernels/shared/elementwise.h"

namespace rushlight {

void convert_copy(KernelRuntimeContext& context, const Tensor& source, const Tensor& out) {
  Shape shape;
  if (!broadcast_shape(context, shape, out.sizes()) || !broadcast_shape(context, shape, source.sizes())) return;
  RL_KERNEL_REQUIRE(context, checked_numel(shape.span()) == out.numel() && shape.dim == out.dim(), InvalidArgument,
                    "a tensor of %lld elements does not broadcast to one of %lld",
                    static_cast<long long>(source.numel()), static_cast<long long>(out.numel()));
  const ScalarType type = source.scalar_type();
  if (type == out.scalar_type() && same_shape(source, out)) {
    bool packed_alike = true;
    for (int64_t d = 0; d < out.dim(); ++d) packed_alike &= source.size(d) == 1 || source.stride(d) == out.stride(d);
    if (packed_alike) {
      if (out.numel() > 0) std::memmove(out.mutable_data_ptr(), source.const_data_ptr(), out.nbytes());
      return;
    }
  }
  switch_compute<kinds::kAll>(context, type, [&](auto tag) {
    using C = typename decltype(tag)::type;
    map_elements<C>(context, {source}, out, type, [](C x) { return x; });
  });
}

}  // namespace rushlight
