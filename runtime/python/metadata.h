#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rushlight/module/module.h"

namespace rushlight::python {

// What a program says about a method, with the program that it is part of.
struct MetadataOfMethod {
  std::shared_ptr<LoadedProgram> program;
  MethodMeta meta;
};

struct MetadataOfTensor {
  std::shared_ptr<LoadedProgram> program;
  TensorInfo info;
  std::vector<SizeRange> ranges;  // of an input's dims; empty for other tensors
};

// The sizes that each dim of an input may have, {-1, -1} where the program says no more than its planned size.
std::vector<SizeRange> input_ranges(const Program& program, std::string_view method, size_t input,
                                    const TensorInfo& info);

// "float32[2..16, 8]", or "float32[<=16, <=8]" where the ranges are not known
std::string describe(const TensorInfo& info, const std::vector<SizeRange>& ranges);
std::string describe(ScalarType dtype, Span<const SizesType> sizes);

}  // namespace rushlight::python
