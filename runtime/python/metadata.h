#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rushlight/module/module.h"

namespace rushlight::python {

// The description of a method, together with the program that it refers to.
struct MetadataOfMethod {
  std::shared_ptr<LoadedProgram> program;
  MethodMeta meta;
};

struct MetadataOfTensor {
  std::shared_ptr<LoadedProgram> program;
  TensorInfo info;
  std::vector<SizeRange> ranges;  // bounds of an input's sizes; empty for other tensors
};

// Returns the bounds of an input's sizes, or {-1, -1} where the program gives only the planned size.
std::vector<SizeRange> input_ranges(const Program& program, std::string_view method, size_t input,
                                    const TensorInfo& info);

// Returns "float32[2..16, 8]", or "float32[<=16, <=8]" if the ranges are unknown.
std::string describe(const TensorInfo& info, const std::vector<SizeRange>& ranges);
std::string describe(ScalarType dtype, Span<const SizesType> sizes);

}  // namespace rushlight::python
