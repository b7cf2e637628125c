#include "kernels/shared/index_reader.h"

namespace rushlight {
namespace {

// Returns the number of leading positions that are all within [lower, size), as a multiple of the block size.
template <typename T>
int64_t count_valid(const T* positions, int64_t n, int64_t lower, int64_t size) {
  constexpr int64_t kBlock = 1024;
  for (int64_t first = 0; first < n; first += kBlock) {
    if (!indices_fit(positions + first, n - first < kBlock ? n - first : kBlock, lower, size)) return first;
  }
  return n;
}

}  // namespace

bool require_indices(KernelRuntimeContext& context, const Tensor& index, int64_t lower, int64_t size) {
  if (!is_index_type(index.scalar_type())) {
    context.fail(Error::InvalidType, "indices are %s, not int32 or int64", dtype_name(index.scalar_type()));
    return false;
  }
  const IndexReader read(index);
  const bool wide = index.scalar_type() == ScalarType::Long;
  const int64_t valid = wide ? count_valid(index.const_data_ptr<int64_t>(), index.numel(), lower, size)
                             : count_valid(index.const_data_ptr<int32_t>(), index.numel(), lower, size);
  for (int64_t i = valid; i < index.numel(); ++i) {
    if (read[i] < lower || read[i] >= size) {
      context.fail(Error::InvalidArgument, "index %lld is not in [%lld, %lld)", static_cast<long long>(read[i]),
                   static_cast<long long>(lower), static_cast<long long>(size));
      return false;
    }
  }
  return true;
}

}  // namespace rushlight
