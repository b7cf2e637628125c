#pragma once

#include <cstddef>

#include "rushlight/exec/method.h"
#include "rushlight/program/bundled_program.h"

namespace rushlight {

// Sets the inputs of a method to the inputs of a test case. The method may read tensors in place, so the bundled
// program must outlive the next execution. Returns NotFound or InvalidArgument if there is no such test case or if its
// number of inputs is wrong, and the errors of Method::set_input().
Error load_bundled_input(Method& method, const BundledProgram& bundled_program, size_t testset_idx);

// Compares the outputs of an executed method with the expected outputs of a test case. A number a is close to the
// expected number b if |a - b| <= atol + rtol * |b|; NaN is close to NaN. Integers and truth values must be equal.
// Returns NotFound if the test case has no expected outputs, InvalidType if types or shapes differ, and InvalidState if
// numbers differ: the message names the output, the first element, and how much differs.
Error verify_method_outputs(const Method& method, const BundledProgram& bundled_program, size_t testset_idx,
                            double rtol = 1e-5, double atol = 1e-8);

}  // namespace rushlight
