#pragma once

#include "rushlight/core/backend.h"

namespace rushlight {

// Returns the row of XnnpackBackend, which runs parts of a program with the linked XNNPACK library, and with kernels of
// this build what the library lacks.
//
// Options when a method is loaded, all of type Bool: own_kernels (false) uses the library only for operators without a
// kernel of this build; tiles (true) runs quantized nodes, and on processors with wide vectors also convolutions and
// products, with microkernels of this build; exact (false) uses no algorithm with larger rounding errors than direct
// sums.
Backend xnnpack_backend();

}  // namespace rushlight
