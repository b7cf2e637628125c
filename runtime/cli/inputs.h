#pragma once

#include <cstdint>
#include <vector>

#include "rushlight/exec/method.h"
#include "rushlight/module/tensor_ptr.h"

namespace rushlight {

// The tensor inputs of a method, read from files or filled with ones. It owns their memory.
class InputFiles {
 public:
  // Sets all tensor inputs. `paths` has one path for each tensor input, or no path. If a shape is dynamic, the size of
  // the outermost dimension follows from the size of the file.
  Error set(Method& method, const std::vector<const char*>& paths);

 private:
  Error set_one(Method& method, size_t index, const char* path);
  // Reads the elements of an input in the dim order of the method.
  Error set_elements(Method& method, size_t index, TensorPtr elements, const std::vector<DimOrderType>& order);
  std::vector<TensorPtr> elements_;
};

}  // namespace rushlight
