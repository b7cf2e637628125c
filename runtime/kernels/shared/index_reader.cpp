#include "kernels/shared/index_reader.h"

namespace rushlight {

bool require_indices(KernelRuntimeContext& context, const Tensor& index, int64_t least, int64_t size) {
  if (!is_index_type(index.scalar_type())) {
    context.fail(Error::InvalidType, "indices are %s, not int32 or int64", dtype_name(index.scalar_type()));
    return false;
  }
  const IndexReader read(index);
  for (int64_t i = 0; i < index.numel(); ++i) {
    if (read[i] < least || read[i] >= size) {
      context.fail(Error::InvalidArgument, "index %lld is not in [%lld, %lld)", static_cast<long long>(read[i]),
                   static_cast<long long>(least), static_cast<long long>(size));
      return false;
    }
  }
  return true;
}

}  // namespace rushlight
