#pragma once

#include <cstdint>
#include <vector>

#include "rushlight/exec/method.h"
#include "rushlight/module/tensor_ptr.h"

namespace rushlight {

// The tensor inputs of a method, read from files or filled with ones. It owns their memory.
class InputFiles {
 public:
  // `paths` has one path for each tensor input, or none. The outermost dimension of a tensor with a dynamic shape gets
  // as many elements as the file has.
  Error set(Method& method, const std::vector<const char*>& paths);

 private:
  Error set_one(Method& method, size_t index, const char* path);
  // Reads the elements of an input in the method's order of dimensions.
  Error set_elements(Method& method, size_t index, TensorPtr elements, const std::vector<DimOrderType>& order);
  std::vector<TensorPtr> elements_;
};

}  // namespace rushlight
