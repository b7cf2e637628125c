#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rushlight/exec/method.h"

namespace rushlight {

// Tensor inputs from files, or filled with ones. Keeps their memory.
class InputFiles {
 public:
  // One path per tensor input, or none at all. Tensors of dynamic shape take as many elements of their outermost
  // dimension as the file has.
  Error set(Method& method, const std::vector<const char*>& paths);

 private:
  Error set_one(Method& method, size_t index, const char* path);
  std::vector<std::unique_ptr<uint8_t[]>> memory_;
};

}  // namespace rushlight
