#pragma once

#include <cstdint>
#include <vector>

#include "rushlight/exec/method.h"
#include "rushlight/module/tensor_ptr.h"

namespace rushlight {

// Tensor inputs from files, or filled with ones. Keeps their memory.
class InputFiles {
 public:
  // One path per tensor input, or none at all. Tensors of dynamic shape take as many elements of their outermost
  // dimension as the file has.
  Error set(Method& method, const std::vector<const char*>& paths);

 private:
  Error set_one(Method& method, size_t index, const char* path);
  // The input's elements, read in the method's order of dimensions.
  Error set_elements(Method& method, size_t index, TensorPtr elements, const std::vector<DimOrderType>& order);
  std::vector<TensorPtr> elements_;
};

}  // namespace rushlight
