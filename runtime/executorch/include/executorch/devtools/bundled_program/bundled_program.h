#pragma once

#include <cstddef>

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/executor/method.h"

namespace executorch {
namespace bundled_program {

// The differences between the outputs of a method and the expected outputs.
struct ErrorStats {
  runtime::Error status = runtime::Error::Ok;
  double mean_abs_error = 0;
  double max_abs_error = 0;
  double mean_relative_error = 0;
  double max_relative_error = 0;
};

// Sets the inputs of a method to the inputs of a test case. `bundled_program_ptr` is a .bpte file in memory, aligned to
// 16; it must outlive the next execution. Returns NotSupported if it is not a bundled program.
ET_NODISCARD runtime::Error load_bundled_input(runtime::Method& method, void* bundled_program_ptr, size_t testset_idx);
// Compares the outputs with the expected outputs of a test case; see rushlight::verify_method_outputs().
ET_NODISCARD runtime::Error verify_method_outputs(runtime::Method& method, void* bundled_program_ptr,
                                                  size_t testset_idx, double rtol = 1e-5, double atol = 1e-8);
// Measures the differences of all outputs. The status is an error if types or shapes differ.
ErrorStats compute_method_output_error_stats(runtime::Method& method, void* bundled_program_ptr, size_t testset_idx);
// Returns the program inside a bundled program, or the file itself if it is a program.
ET_NODISCARD runtime::Error get_program_data(void* file_data, size_t file_data_len, const void** out_program_data,
                                             size_t* out_program_data_len);
// Returns whether a file is a bundled program.
bool is_bundled_program(void* file_data, size_t file_data_len);

}  // namespace bundled_program
}  // namespace executorch

namespace torch {
namespace executor {
namespace bundled_program {
using ::executorch::bundled_program::is_bundled_program;
}  // namespace bundled_program
using ::executorch::bundled_program::get_program_data;
}  // namespace executor
}  // namespace torch
