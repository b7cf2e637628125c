#pragma once

#include "rushlight/core/backend.h"
#include "rushlight/core/kernel.h"

namespace rushlight {

// Returns the row of XnnpackBackend. The backend runs parts of a program with the linked XNNPACK library. Operators
// that the library does not support run with the kernels of `kernels`. These tables are searched in order and must
// outlive the backend. Later calls do not change the tables.
//
// Options when a method is loaded, all of type Bool, with their defaults: own_kernels (false) uses the library only for
// operators that have no kernel in the tables; microkernels (true) runs quantized nodes with microkernels of this
// build, and on processors with wide vectors also convolutions and matrix products; exact (false) excludes algorithms
// with larger rounding errors than direct sums.
Backend xnnpack_backend(Span<const KernelTable> kernels);

}  // namespace rushlight
