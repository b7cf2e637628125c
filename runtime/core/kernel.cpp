#include "rushlight/core/kernel.h"

#include "core/all_tensors.h"
#include "core/kernel_rows.h"

namespace rushlight {

bool accepts(ArgKind kind, Tag tag) {
  switch (kind) {
    case ArgKind::OptionalTensor:
      return tag == Tag::None || tag == Tag::Tensor;
    case ArgKind::Tensor:
    case ArgKind::OutTensor:
      return tag == Tag::Tensor;
    case ArgKind::TensorList:
    case ArgKind::OutTensorList:
      return tag == Tag::ListTensor;
    case ArgKind::OptionalTensorList:
      return tag == Tag::ListOptionalTensor;
    case ArgKind::OptionalScalar:
      return tag == Tag::None || tag == Tag::Int || tag == Tag::Double || tag == Tag::Bool;
    case ArgKind::Scalar:
      return tag == Tag::Int || tag == Tag::Double || tag == Tag::Bool;
    case ArgKind::OptionalInt:
      return tag == Tag::None || tag == Tag::Int || tag == Tag::Bool;
    case ArgKind::Int:
      return tag == Tag::Int || tag == Tag::Bool;
    case ArgKind::OptionalDouble:
      return tag == Tag::None || tag == Tag::Double || tag == Tag::Int;
    case ArgKind::Double:
      return tag == Tag::Double || tag == Tag::Int;
    case ArgKind::OptionalBool:
      return tag == Tag::None || tag == Tag::Bool;
    case ArgKind::Bool:
      return tag == Tag::Bool;
    case ArgKind::OptionalIntList:
      return tag == Tag::None || tag == Tag::ListInt;
    case ArgKind::IntList:
      return tag == Tag::ListInt;
    case ArgKind::OptionalDoubleList:
      return tag == Tag::None || tag == Tag::ListDouble;
    case ArgKind::DoubleList:
      return tag == Tag::ListDouble;
    case ArgKind::BoolList:
      return tag == Tag::ListBool;
    case ArgKind::OptionalString:
      return tag == Tag::None || tag == Tag::String;
    case ArgKind::String:
      return tag == Tag::String;
    case ArgKind::OptionalScalarType:
      return tag == Tag::None || tag == Tag::Int;
    case ArgKind::ScalarType:
      return tag == Tag::Int;
    case ArgKind::Value:
      return true;
  }
  return false;
}

const char* to_string(ArgKind kind) noexcept {
  switch (kind) {
    case ArgKind::Tensor:
      return "Tensor";
    case ArgKind::OptionalTensor:
      return "optional Tensor";
    case ArgKind::TensorList:
      return "TensorList";
    case ArgKind::OptionalTensorList:
      return "OptionalTensorList";
    case ArgKind::Scalar:
      return "number";
    case ArgKind::OptionalScalar:
      return "optional number";
    case ArgKind::Int:
      return "Int";
    case ArgKind::OptionalInt:
      return "optional Int";
    case ArgKind::Double:
      return "Double";
    case ArgKind::OptionalDouble:
      return "optional Double";
    case ArgKind::Bool:
      return "Bool";
    case ArgKind::OptionalBool:
      return "optional Bool";
    case ArgKind::IntList:
      return "IntList";
    case ArgKind::OptionalIntList:
      return "optional IntList";
    case ArgKind::DoubleList:
      return "DoubleList";
    case ArgKind::OptionalDoubleList:
      return "optional DoubleList";
    case ArgKind::BoolList:
      return "BoolList";
    case ArgKind::String:
      return "String";
    case ArgKind::OptionalString:
      return "optional String";
    case ArgKind::ScalarType:
      return "Int (a dtype)";
    case ArgKind::OptionalScalarType:
      return "optional Int (a dtype)";
    case ArgKind::Value:
      return "any value";
    case ArgKind::OutTensor:
      return "Tensor (written)";
    case ArgKind::OutTensorList:
      return "TensorList (written)";
  }
  return "?";
}

bool have_same_kinds(const BoxedKernel& a, const BoxedKernel& b) {
  if (a.arity != b.arity) return false;
  for (uint16_t i = 0; i < a.arity; ++i) {
    if (a.kinds[i] != b.kinds[i]) return false;
  }
  return true;
}

bool covers(const Kernel& row, const Kernel& other) {
  if (!have_same_kinds(row.boxed, other.boxed)) return false;
  for (uint16_t i = 0; i < row.boxed.arity; ++i) {
    const uint32_t taken = row.dtypes_of(i).bits();
    const uint32_t wanted = other.dtypes_of(i).bits();
    if (!is_tensor_kind(row.boxed.kinds[i]) || taken == 0) continue;
    if (wanted == 0 || (taken & wanted) != wanted) return false;
  }
  return true;
}

#if defined(RUSHLIGHT_NO_KERNEL_KEYS)

bool fits_key(const Kernel& kernel, const EValue* const*) { return kernel.key == nullptr; }

#else

namespace {

// Reads one tensor of a kernel's key, "<dtype>;<axis>,<axis>", and the separator after it. Returns whether `tensor` has
// this dtype and dim order.
bool read_key_entry(const char** text, const Tensor& tensor) {
  const auto number = [text]() {
    int value = 0;
    while (**text >= '0' && **text <= '9' && value < 1000) value = value * 10 + (*(*text)++ - '0');
    return value;
  };
  bool fits = number() == static_cast<int>(tensor.scalar_type());
  int64_t dim = 0;
  while (**text == ';' || **text == ',') {
    ++*text;
    if (**text == '\0' || **text == '|') break;  // a tensor without dimensions
    const int axis = number();
    fits = fits && dim < tensor.dim() && tensor.dim_order()[static_cast<size_t>(dim)] == axis;
    ++dim;
  }
  if (**text == '|') ++*text;
  return fits && dim == tensor.dim();
}

}  // namespace

bool fits_key(const Kernel& kernel, const EValue* const* arguments) {
  constexpr std::string_view kVersion = "v1/";
  if (!kernel.key) return true;
  if (std::string_view(kernel.key).substr(0, kVersion.size()) != kVersion) return false;
  const char* text = kernel.key + kVersion.size();
  // After the arguments, a key may list the output arguments a second time, as results.
  for (const bool results : {false, true}) {
    if (results && *text == '\0') break;
    for (uint16_t i = 0; i < kernel.boxed.arity; ++i) {
      const bool is_listed = results ? kernel.boxed.kinds[i] == ArgKind::OutTensor : arguments[i]->tag == Tag::Tensor;
      if (is_listed && (*text == '\0' || !read_key_entry(&text, arguments[i]->to_tensor()))) return false;
    }
  }
  return *text == '\0';
}

#endif

DtypeMismatch find_dtype_mismatch(const Kernel& kernel, const EValue* const* arguments) {
  DtypeMismatch mismatch;
  for (uint16_t i = 0; i < kernel.boxed.arity && !mismatch.found; ++i) {
    const DtypeSet dtypes = kernel.dtypes_of(i);
    if (!is_tensor_kind(kernel.boxed.kinds[i]) || dtypes.bits() == 0) continue;
    all_tensors(*arguments[i], [&](const Tensor& tensor) {
      if (dtypes.contains(tensor.scalar_type())) return true;
      mismatch = {true, i, tensor.scalar_type()};
      return false;
    });
  }
  return mismatch;
}

const Kernel* find_kernel(Span<const KernelTable> tables, std::string_view name) {
  for (const KernelTable& table : tables) {
    size_t low = 0;
    size_t high = table.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      const int order = name.compare(table[middle].name);
      if (order == 0) return &table[middle];
      if (order < 0) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
  }
  return nullptr;
}

}  // namespace rushlight
