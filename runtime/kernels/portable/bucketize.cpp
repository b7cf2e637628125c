#include "kernels/portable/reduction.h"
#include "kernels/shared/binary_search.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

template <typename C>
struct Buckets {
  const Tensor& boundaries;
  bool right;
  Convert load;
  int64_t operator()(C x) const {
    return count_below<C>(boundaries.numel(), x, right, [&](int64_t i) {
      C boundary;
      load(at(boundaries, i * boundaries.stride(0)), 1, &boundary, 1, 1);
      return boundary;
    });
  }
};

bool require_vector(KernelRuntimeContext& context, const Tensor& boundaries) {
  if (boundaries.dim() == 1) return true;
  context.fail(Error::InvalidArgument, "the boundaries have %lld dims, not 1",
               static_cast<long long>(boundaries.dim()));
  return false;
}

}  // namespace

void bucketize_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& boundaries, bool, bool right,
                          Tensor& out) {
  if (!require_vector(context, boundaries) || !resize_out_like(context, out, in)) return;
  const ScalarType common = promote_types(in.scalar_type(), boundaries.scalar_type());
  switch_compute<kinds::kReal>(context, common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    map_elements<C>(context, {in}, out, common,
                    Buckets<C>{boundaries, right, load_function(boundaries.scalar_type(), scalar_type_of<C>)});
  });
}

void bucketize_scalar_out(KernelRuntimeContext& context, const Scalar& number, const Tensor& boundaries, bool,
                          bool right, Tensor& out) {
  if (!require_vector(context, boundaries) || !resize_out(context, out, {})) return;
  const ScalarType common =
      promote_types(number.is_double() ? ScalarType::Float : ScalarType::Long, boundaries.scalar_type());
  switch_compute<kinds::kReal>(context, common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Buckets<C> buckets{boundaries, right, load_function(boundaries.scalar_type(), scalar_type_of<C>)};
    const int64_t index = buckets(number_in<C>(number, common));
    store_function(ScalarType::Long, out.scalar_type())(&index, 1, at(out, 0), 1, 1);
  });
}

}  // namespace rushlight::portable
