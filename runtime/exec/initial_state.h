#pragma once

#include "exec/method_state.h"

namespace rushlight {

// Checks that each byte of a bool tensor is 0 or 1; kernels rely on this.
Error check_bools(const MethodState& state, size_t index, const TensorImpl& tensor);

// Checks that the data files of a method contain value `index` with the layout of `view`.
Error check_external(const MethodState& state, size_t index, const TensorView& view);

// Writes the initial values of planned tensors, from the program and from data files. Memory that `shared` has
// initialized before keeps its contents; `shared` may be null.
Error load_initial_values(MethodState& state, SharedState* shared);

}  // namespace rushlight
