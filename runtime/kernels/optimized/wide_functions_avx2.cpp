#include "kernels/optimized/wide_functions_impl.h"
