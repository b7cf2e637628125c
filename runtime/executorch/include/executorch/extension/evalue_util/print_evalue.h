#pragma once

#include <ostream>

#include "executorch/runtime/core/evalue.h"

namespace executorch {
namespace runtime {

// Prints a value: numbers as text, tensors as "tensor(sizes=[2, 2], [1., 2., 3., 4.])". Long lists are cut in the
// middle.
std::ostream& operator<<(std::ostream& stream, const EValue& value);

}  // namespace runtime

namespace extension {

// Sets how many elements are printed at each end of a long list: stream << evalue_edge_items(10) << value.
class evalue_edge_items final {
 public:
  explicit evalue_edge_items(long count) : count_(count < 1 ? 1 : count) {}
  friend std::ostream& operator<<(std::ostream& stream, const evalue_edge_items& items);

 private:
  long count_;
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::evalue_edge_items;
}  // namespace util
}  // namespace executor
}  // namespace torch
