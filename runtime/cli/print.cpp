#include "cli/print.h"

#include <cinttypes>
#include <cstdio>

namespace rushlight {
namespace {

constexpr int64_t kSummaryItems = 10;

void print_shape(ScalarType dtype, Span<const SizesType> sizes) {
  std::printf("%s[", dtype_name(dtype));
  for (size_t i = 0; i < sizes.size(); ++i) std::printf("%s%d", i ? ", " : "", static_cast<int>(sizes[i]));
  std::printf("]");
}

template <typename T>
double as_double(const Tensor& tensor, int64_t i) {
  return static_cast<double>(static_cast<float>(tensor.const_data_ptr<T>()[i]));
}

void print_element(const Tensor& tensor, int64_t i) {
  switch (tensor.scalar_type()) {
    case ScalarType::Float:
      std::printf("%g", static_cast<double>(tensor.const_data_ptr<float>()[i]));
      return;
    case ScalarType::Double:
      std::printf("%g", tensor.const_data_ptr<double>()[i]);
      return;
    case ScalarType::Half:
      std::printf("%g", as_double<Half>(tensor, i));
      return;
    case ScalarType::BFloat16:
      std::printf("%g", as_double<BFloat16>(tensor, i));
      return;
    case ScalarType::Bool:
      std::printf("%s", tensor.const_data_ptr<uint8_t>()[i] ? "true" : "false");
      return;
    case ScalarType::Byte:
      std::printf("%d", tensor.const_data_ptr<uint8_t>()[i]);
      return;
    case ScalarType::Char:
      std::printf("%d", tensor.const_data_ptr<int8_t>()[i]);
      return;
    case ScalarType::Short:
      std::printf("%d", tensor.const_data_ptr<int16_t>()[i]);
      return;
    case ScalarType::UInt16:
      std::printf("%d", tensor.const_data_ptr<uint16_t>()[i]);
      return;
    case ScalarType::Int:
      std::printf("%" PRId32, tensor.const_data_ptr<int32_t>()[i]);
      return;
    case ScalarType::UInt32:
      std::printf("%" PRIu32, tensor.const_data_ptr<uint32_t>()[i]);
      return;
    case ScalarType::Long:
      std::printf("%" PRId64, tensor.const_data_ptr<int64_t>()[i]);
      return;
    case ScalarType::UInt64:
      std::printf("%" PRIu64, tensor.const_data_ptr<uint64_t>()[i]);
      return;
    case ScalarType::ComplexFloat:
      std::printf("%g%+gj", static_cast<double>(tensor.const_data_ptr<float>()[2 * i]),
                  static_cast<double>(tensor.const_data_ptr<float>()[2 * i + 1]));
      return;
    default:
      std::printf("?");
  }
}

// Prints elements in row-major order.
void print_tensor(const Tensor& tensor, PrintMode mode) {
  print_shape(tensor.scalar_type(), tensor.sizes());
  std::printf(" {");
  const int64_t shown = mode == PrintMode::All || tensor.numel() < kSummaryItems ? tensor.numel() : kSummaryItems;
  for (int64_t i = 0; i < shown; ++i) {
    int64_t rest = i;
    int64_t offset = 0;
    for (int64_t axis = tensor.dim(); axis-- > 0;) {
      offset += rest % tensor.size(axis) * tensor.stride(axis);
      rest /= tensor.size(axis);
    }
    if (i > 0) std::printf(", ");
    print_element(tensor, offset);
  }
  std::printf("%s}", shown < tensor.numel() ? ", ..." : "");
}

void print_value(const EValue& value, PrintMode mode) {
  switch (value.tag) {
    case Tag::Tensor:
      print_tensor(value.to_tensor(), mode);
      return;
    case Tag::Int:
      std::printf("%" PRId64, value.to_int());
      return;
    case Tag::Double:
      std::printf("%g", value.to_double());
      return;
    case Tag::Bool:
      std::printf("%s", value.to_bool() ? "true" : "false");
      return;
    case Tag::String:
      std::printf("\"%.*s\"", static_cast<int>(value.to_string_view().size()), value.to_string_view().data());
      return;
    default:
      std::printf("%s", to_string(value.tag));
  }
}

void print_end(const char* what, size_t index, const Result<Tag>& tag, const Result<TensorInfo>& info) {
  std::printf("  %s %zu: ", what, index);
  if (info.ok()) {
    print_shape(info->dtype, info->sizes);
    if (info->dynamism != ShapeDynamism::STATIC) std::printf(" at most");
  } else {
    std::printf("%s", tag.ok() ? to_string(*tag) : "?");
  }
  std::printf("\n");
}

}  // namespace

void print_method(const MethodMeta& meta) {
  std::printf("%s: %zu instructions, %zu operators\n", meta.name().data(), meta.num_instructions(),
              meta.num_operators());
  for (size_t i = 0; i < meta.num_inputs(); ++i) print_end("input", i, meta.input_tag(i), meta.input_tensor_meta(i));
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    print_end("output", i, meta.output_tag(i), meta.output_tensor_meta(i));
  }
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const auto size = meta.memory_planned_buffer_size(i);
    if (size.ok()) std::printf("  planned memory %zu: %zu bytes\n", i + 1, *size);
  }
  for (size_t i = 0; i < meta.num_backends(); ++i) {
    const auto id = meta.backend_name(i);
    if (id.ok()) std::printf("  delegate %zu: %s\n", i, id->data());
  }
}

void print_outputs(const Method& method, PrintMode mode) {
  if (mode == PrintMode::None) return;
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    std::printf("output %zu: ", i);
    print_value(method.get_output(i), mode);
    std::printf("\n");
  }
}

}  // namespace rushlight
