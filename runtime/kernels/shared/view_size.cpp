#include "kernels/shared/view_size.h"

namespace rushlight {

bool resolve_view_size(KernelRuntimeContext& context, int64_t numel, Span<const int64_t> sizes, Shape* shape) {
  int64_t known = 1;
  int inferred = -1;
  bool fits = sizes.size() <= kMaxDim;
  for (const int64_t size : sizes) {
    if (!fits) break;
    if (size == -1) {
      fits = inferred < 0;
      inferred = shape->dim;
      shape->push(0);
    } else {
      fits = size >= 0 && (size == 0 || known <= INT64_MAX / size);
      if (fits) known *= size;
      shape->push(size);
    }
  }
  if (fits && inferred >= 0) {
    fits = known != 0 && numel % known == 0;
    if (fits) shape->set(inferred, numel / known);
  } else {
    fits = fits && known == numel;
  }
  if (!fits) {
    context.fail(Error::InvalidArgument, "%lld elements cannot be viewed in this shape", static_cast<long long>(numel));
  }
  return fits;
}

}  // namespace rushlight
