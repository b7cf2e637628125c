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
    case Tag::IntList:
      return "IntList";
    case Tag::DoubleList:
      return "DoubleList";
    case Tag::BoolList:
      return "BoolList";
    case Tag::TensorList:
      return "TensorList";
    case Tag::OptionalTensorList:
      return "OptionalTensorList";
  }
  return "?";
}

}  // namespace rushlight
