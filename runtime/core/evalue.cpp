#include "rushlight/core/evalue.h"

namespace rushlight {

const char* to_string(Tag tag) noexcept {
  switch (tag) {
    case Tag::None:
      return "None";
    case Tag::Tensor:
      return "Tensor";
    case Tag::Int:
      return "Int";
    case Tag::Double:
      return "Double";
    case Tag::Bool:
      return "Bool";
    case Tag::String:
      return "String";
    case Tag::ListInt:
      return "IntList";
    case Tag::ListDouble:
      return "DoubleList";
    case Tag::ListBool:
      return "BoolList";
    case Tag::ListTensor:
      return "TensorList";
    case Tag::ListScalar:
      return "ScalarList";
    case Tag::ListOptionalTensor:
      return "OptionalTensorList";
  }
  return "?";
}

}  // namespace rushlight
