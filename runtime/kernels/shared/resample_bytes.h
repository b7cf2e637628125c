#pragma once

#include "kernels/shared/resample.h"

namespace rushlight {

// Resizes images of bytes with 16-bit weights, first along rows and then along columns, and rounds after each
// direction, as Pillow and ATen do.
void resample_bytes(KernelRuntimeContext& context, const Resample& resample, const Tensor& in, const Tensor& out);

}  // namespace rushlight
