#include "kernels/quantized/bytes.h"

#include "kernels/quantized/affine_loop.h"

namespace rushlight::quantized {

bool require_output(KernelRuntimeContext& context, const Tensor& out, int64_t least, int64_t most) {
  if (!is_byte(out)) {
    context.fail(Error::InvalidType, "out has elements of %s, not int8 or uint8", dtype_name(out.scalar_type()));
    return false;
  }
  return require_range(context, least, most, out.scalar_type());
}

}  // namespace rushlight::quantized
