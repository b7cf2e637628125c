#pragma once

#include "kernels/shared/resample.h"

namespace rushlight {

// Resizes images of bytes with weights of 16 bits, first along rows and then along columns, with a rounding after each,
// as Pillow and ATen do it.
void resample_bytes(KernelRuntimeContext& context, const Resample& resample, const Tensor& in, const Tensor& out);

}  // namespace rushlight
