#include "kernels/shared/slice.h"

#include <algorithm>

namespace rushlight {
namespace {

int64_t clamped(int64_t position, int64_t size) {
  return std::clamp<int64_t>(position < 0 ? position + size : position, 0, size);
}

}  // namespace

bool resolve_slice(KernelRuntimeContext& context, int64_t size, std::optional<int64_t> start,
                   std::optional<int64_t> end, int64_t step, Slice* slice) {
  if (step <= 0) {
    context.fail(Error::InvalidArgument, "a slice needs a positive step, not %lld", static_cast<long long>(step));
    return false;
  }
  const int64_t first = clamped(start.value_or(0), size);
  const int64_t last = std::max(first, clamped(end.value_or(size), size));
  const int64_t span = last - first;
  // A step of the size of the axis or more is not used. Step 1 instead avoids an overflow of its product with a stride.
  *slice = {first, step < size ? step : 1, span / step + (span % step != 0)};
  return true;
}

}  // namespace rushlight
