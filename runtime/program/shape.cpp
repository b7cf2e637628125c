#include "program/shape.h"

namespace rushlight {
namespace {

bool is_known(ScalarType type) {
  const int value = static_cast<int>(type);
  const bool is_unnamed_bits = value >= 18 && value <= 21;
  return element_size(type) != 0 && !is_unnamed_bits;
}

bool is_permutation(Span<const DimOrderType> order) {
  uint32_t seen = 0;
  for (const DimOrderType axis : order) {
    if (axis >= order.size()) return false;
    seen |= 1u << axis;
  }
  return seen == (1u << order.size()) - 1;
}

// Returns whether all strides of a dense tensor fit into StridesType.
bool strides_fit(Span<const SizesType> sizes, Span<const DimOrderType> order) {
  uint64_t stride = 1;
  for (size_t i = order.size(); i-- > 1;) {
    const SizesType size = sizes[order[i]];
    stride *= size > 0 ? static_cast<uint64_t>(size) : 1;
    if (stride > INT32_MAX) return false;
  }
  return true;
}

}  // namespace

const char* check_shape(ScalarType type, Span<const SizesType> sizes, Span<const DimOrderType> order, size_t* nbytes) {
  if (!is_known(type)) return "its dtype is unknown";
  if (sizes.size() > static_cast<size_t>(kMaxDim)) return "it has more than 16 dimensions";
  if (order.size() != sizes.size()) return "the length of its dim order differs from its number of dimensions";
  if (!is_permutation(order)) return "its dim order is not a permutation";
  const int64_t numel = checked_numel(sizes);
  const size_t item = element_size(type);
  if (numel < 0 || static_cast<uint64_t>(numel) > SIZE_MAX / 2 / item) return "its size is negative or too large";
  if (!strides_fit(sizes, order)) return "its strides exceed 32 bits";
  *nbytes = static_cast<size_t>(numel) * item;
  return nullptr;
}

}  // namespace rushlight
