#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/named_data.h"
#include "rushlight/core/result.h"
#include "rushlight/core/span.h"

namespace rushlight {

// An input or an expected output of a test case.
struct BundledValue {
  EValue number;               // an Int, Double or Bool; None if the value is a tensor
  TensorLayout layout;         // dtype and shape of a tensor
  const void* data = nullptr;  // the elements of a tensor, in the order of layout.dim_order

  bool is_tensor() const { return number.tag == Tag::None; }
};

// A validated .bpte file: a program, and test cases of its methods. It never changes, and any number of threads may use
// it.
class BundledProgram final {
 public:
  // Validates a file in memory. The file must outlive the object and begin at a multiple of 16. The program inside is
  // not validated: Program::load() does that. Returns InvalidProgram if the file is damaged or not a bundled program,
  // and NotSupported if its version is unknown.
  static Result<BundledProgram> load(const void* data, size_t size);

  // Returns the bytes of the .pte file. They begin at a multiple of 16.
  Span<const uint8_t> program_data() const;
  // Returns the number of methods with test cases, and their names, which end with NUL.
  size_t num_methods() const;
  Result<std::string_view> method_name(size_t index) const;
  // Return the number of test cases of a method, and of the inputs and expected outputs of a test case. Errors:
  // NotFound if the method has no test cases, InvalidArgument if there is no such test case.
  Result<size_t> num_test_cases(std::string_view method) const;
  Result<size_t> num_inputs(std::string_view method, size_t test_case) const;
  Result<size_t> num_expected_outputs(std::string_view method, size_t test_case) const;
  // Return a value of a test case; the elements of a tensor are in the file. Errors: as above, and InvalidArgument if
  // there is no such value.
  Result<BundledValue> input(std::string_view method, size_t test_case, size_t index) const;
  Result<BundledValue> expected_output(std::string_view method, size_t test_case, size_t index) const;

 private:
  explicit BundledProgram(const uint8_t* root) : root_(root) {}
  const uint8_t* root_;
};

// Returns whether a file with these first bytes is a bundled program.
bool is_bundled_program(const void* data, size_t size);

}  // namespace rushlight
