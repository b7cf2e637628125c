#pragma once

#include "kernels/shared/resample.h"

namespace rushlight {

// Resizes images of bytes with 16-bit weights: first along rows, then along columns. As in Pillow and ATen, the result
// of each direction is rounded.
void resample_bytes(KernelRuntimeContext& context, const Resample& resample, const Tensor& in, const Tensor& out);

}  // namespace rushlight
