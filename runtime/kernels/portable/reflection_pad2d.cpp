#include "kernels/portable/shape.h"
#include "kernels/shared/pad.h"

namespace rushlight::portable {

void reflection_pad2d_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, Tensor& out) {
  pad_with_input_elements(context, in, padding, 2, PadMode::Reflect, out);
}

}  // namespace rushlight::portable
