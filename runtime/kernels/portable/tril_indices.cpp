#include "kernels/portable/create.h"
#include "kernels/shared/triangle_indices.h"

namespace rushlight::portable {

void tril_indices_out(KernelRuntimeContext& context, int64_t rows, int64_t columns, int64_t offset, Tensor& out) {
  triangle_indices(context, rows, columns, offset, true, out);
}

}  // namespace rushlight::portable
