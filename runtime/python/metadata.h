#pragma once

#include <memory>
#include <string>
#include <utility>

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
};

// "float32[2, <=8]"
std::string describe(const TensorInfo& info);
std::string describe(ScalarType dtype, Span<const SizesType> sizes);

}  // namespace rushlight::python
