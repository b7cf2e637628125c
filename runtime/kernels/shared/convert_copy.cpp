#include "kernels/shared/convert_copy.h"

#include "kernels/shared/elementwise.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight {
namespace {

// Axes that the source lacks or has one element of are repeated.
void copy_broadcast(KernelRuntimeContext& context, const Tensor& source, const Tensor& out) {
  StridedLoops loops;
  const int64_t missing = out.dim() - source.dim();
  for (int64_t i = 0; i < out.dim(); ++i) {
    const bool repeated = i < missing || source.size(i - missing) == 1;
    loops.add(out.size(i), repeated ? 0 : source.stride(i - missing), out.stride(i));
  }
  strided_copy(context, loops, source.const_data_ptr(), out.mutable_data_ptr(), out.element_size());
}

}  // namespace

void convert_copy(KernelRuntimeContext& context, const Tensor& source, const Tensor& out) {
  Shape shape;
  if (!broadcast_shape(context, shape, out.sizes()) || !broadcast_shape(context, shape, source.sizes())) return;
  RL_KERNEL_REQUIRE(context, checked_numel(shape.span()) == out.numel() && shape.dim == out.dim(), InvalidArgument,
                    "a tensor of %lld elements does not broadcast to one of %lld",
                    static_cast<long long>(source.numel()), static_cast<long long>(out.numel()));
  const ScalarType type = source.scalar_type();
  if (type == out.scalar_type()) {
    copy_broadcast(context, source, out);
    return;
  }
  switch_compute<kinds::kAll>(context, type, [&](auto tag) {
    using C = typename decltype(tag)::type;
    map_elements<C>(context, {source}, out, type, [](C x) { return x; });
  });
}

}  // namespace rushlight
