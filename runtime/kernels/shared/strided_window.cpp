#include "kernels/shared/strided_window.h"

namespace rushlight {

bool read_strided_window(KernelRuntimeContext& context, const Tensor& storage, Span<const int64_t> sizes,
                         Span<const int64_t> strides, std::optional<int64_t> offset, Shape* shape, int64_t* first) {
  if (sizes.size() != strides.size() || sizes.size() > kMaxDim) {
    context.fail(Error::InvalidArgument, "a strided view of %zu sizes and %zu strides is not supported", sizes.size(),
                 strides.size());
    return false;
  }
  const int64_t numel = storage.numel();
  bool empty = false;
  for (const int64_t size : sizes) {
    shape->push(size);
    empty = empty || size == 0;
  }
  *first = offset.value_or(0);
  bool inside = *first >= 0 && (empty || *first < numel);
  int64_t last = *first;  // offset of the last element in memory
  for (size_t i = 0; i < sizes.size() && inside && !empty; ++i) {
    inside = sizes[i] > 0 && strides[i] >= 0;
    if (!inside || sizes[i] == 1 || strides[i] == 0) continue;
    inside = sizes[i] - 1 <= (numel - 1 - last) / strides[i];
    if (inside) last += (sizes[i] - 1) * strides[i];
  }
  if (!inside) {
    context.fail(Error::InvalidArgument, "the strided view exceeds the storage of %lld elements",
                 static_cast<long long>(numel));
  }
  return inside;
}

}  // namespace rushlight
