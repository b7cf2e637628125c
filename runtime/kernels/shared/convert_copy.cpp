#include "kernels/shared/convert_copy.h"

#include "kernels/shared/axes.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight {
namespace {

// Broadcasts the source along axes that it lacks or in which its size is 1.
void copy_broadcast(KernelRuntimeContext& context, const Tensor& source, const Tensor& out) {
  StridedLoops loops;
  const int64_t missing = out.dim() - source.dim();
  for (int64_t i = 0; i < out.dim(); ++i) {
    const bool repeated = i < missing || source.size(i - missing) == 1;
    loops.add(out.size(i), repeated ? 0 : source.stride(i - missing), out.stride(i));
  }
  strided_copy(context, loops, source.const_data_ptr(), out.mutable_data_ptr(), out.element_size());
}

// Copies between tensors with the same layout, if one of the dtypes is a compute type.
bool convert_whole(KernelRuntimeContext& context, const Tensor& source, const Tensor& out) {
  constexpr int64_t kGrain = 16 * 1024;
  if (!same_layout(source, out)) return false;
  const ScalarType type = source.scalar_type(), to = out.scalar_type();
  // Compilers generate better loops for bytes than for bools.
  const ScalarType from = type == ScalarType::Bool ? ScalarType::Byte : type;
  const Convert load = load_function(from, to), convert = load ? load : store_function(from, to);
  if (convert == nullptr || is_complex(from) || is_complex(to)) return false;
  context.parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    convert(at(source, begin), 1, at(out, begin), 1, end - begin);
  });
  return true;
}

}  // namespace

void convert_copy(KernelRuntimeContext& context, const Tensor& source, const Tensor& out) {
  Shape shape;
  if (!broadcast_shape(context, shape, out.sizes()) || !broadcast_shape(context, shape, source.sizes())) return;
  RL_KERNEL_REQUIRE(context, checked_numel(shape.span()) == out.numel() && shape.dim == out.dim(), InvalidArgument,
                    "a tensor of %lld elements does not broadcast to a tensor of %lld elements",
                    static_cast<long long>(source.numel()), static_cast<long long>(out.numel()));
  const ScalarType type = source.scalar_type();
  if (type == out.scalar_type()) {
    copy_broadcast(context, source, out);
    return;
  }
  if (convert_whole(context, source, out)) return;
  switch_compute<kinds::kAll>(context, type, [&](auto tag) {
    using C = typename decltype(tag)::type;
    map_elements<C>(context, {source}, out, type, [](C x) { return x; });
  });
}

}  // namespace rushlight
