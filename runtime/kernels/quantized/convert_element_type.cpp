#include "kernels/quantized/affine.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void convert_element_type_out(KernelRuntimeContext& context, const Tensor& in, ScalarType dtype, Tensor& out) {
  if (require_dtype(context, "out", out, dtype) && resize_out_like(context, out, in)) convert_copy(context, in, out);
}

}  // namespace rushlight::quantized
