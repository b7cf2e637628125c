#pragma once

#include "rushlight/core/backend.h"
#include "rushlight/core/kernel.h"

namespace rushlight {

// Returns the row of XnnpackBackend. The backend runs parts of a program with the linked XNNPACK library. Operators
// that the library lacks run with the kernels of `kernels`. These tables are searched in order and must outlive the
// backend; the tables of the first call stay in use.
//
// Options when a method is loaded, all of type Bool: own_kernels (false) uses the library only for operators without a
// kernel of the tables; microkernels (true) runs quantized nodes, and on processors with wide vectors also convolutions
// and products, with microkernels of this build; exact (false) uses no algorithm with larger rounding errors than
// direct sums.
Backend xnnpack_backend(Span<const KernelTable> kernels);

}  // namespace rushlight
