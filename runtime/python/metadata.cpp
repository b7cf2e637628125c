#include "python/metadata.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "python/bindings.h"
#include "python/errors.h"

namespace rushlight::python {

namespace nb = nanobind;

namespace {

template <typename T>
T value_of(Result<T> result) {
  if (!result.ok()) raise_if(result.error());
  return std::move(result.get());
}

[[noreturn]] void raise_index_error(std::string_view text) {
  PyErr_SetObject(PyExc_IndexError, to_str(text).ptr());
  throw nb::python_error();
}

void check_index(size_t index, size_t count, const char* what, const MethodMeta& meta) {
  if (index < count) return;
  const std::string text = "method '" + std::string(meta.name()) + "' has " + std::to_string(count) + " " + what +
                           (count == 1 ? "; the index " : "s; the index ") + std::to_string(index) + " is too large";
  raise_index_error(text);
}

nb::object tag_name(Tag tag) { return nb::str(to_string(tag)); }

// Names of element types as ExecuTorch prints them, by number.
constexpr const char* kScalarTypeNames[kScalarTypeCount] = {"Byte",
                                                            "Char",
                                                            "Short",
                                                            "Int",
                                                            "Long",
                                                            "Half",
                                                            "Float",
                                                            "Double",
                                                            "ComplexHalf",
                                                            "ComplexFloat",
                                                            "ComplexDouble",
                                                            "Bool",
                                                            "QInt8",
                                                            "QUInt8",
                                                            "QInt32",
                                                            "BFloat16",
                                                            "QUInt4x2",
                                                            "QUInt2x4",
                                                            "Bits1x8",
                                                            "Bits2x4",
                                                            "Bits4x2",
                                                            "Bits8",
                                                            "Bits16",
                                                            "Float8_e5m2",
                                                            "Float8_e4m3fn",
                                                            "Float8_e5m2fnuz",
                                                            "Float8_e4m3fnuz",
                                                            "UInt16",
                                                            "UInt32",
                                                            "UInt64"};

std::string repr(const TensorInfo& info) {
  std::string text = "TensorInfo(sizes=[";
  for (size_t i = 0; i < info.sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(info.sizes[i]);
  text += "], dtype=" + std::string(kScalarTypeNames[static_cast<size_t>(info.dtype)]);
  text += info.is_memory_planned ? ", is_memory_planned=True" : ", is_memory_planned=False";
  return text + ", nbytes=" + std::to_string(info.nbytes) + ")";
}

// Describes the inputs or outputs of a method: the description of each tensor, and the type of each other value.
template <typename TagOf, typename TensorOf>
std::string repr_values(const char* what, size_t count, TagOf tag_of, TensorOf tensor_of) {
  std::string text = std::string(", num_") + what + "puts=" + std::to_string(count) + ", " + what + "put_tensor_meta=[";
  for (size_t i = 0; i < count; ++i) {
    const Tag tag = value_of(tag_of(i));
    text += i > 0 ? ", '" : "'";
    text += (tag == Tag::Tensor ? repr(value_of(tensor_of(i))) : to_string(tag)) + std::string("'");
  }
  return text + "]";
}

std::string repr(const MethodMeta& meta) {
  std::string text = "MethodMeta(name='" + std::string(meta.name()) + "'";
  text += repr_values(
      "in", meta.num_inputs(), [&](size_t i) { return meta.input_tag(i); },
      [&](size_t i) { return meta.input_tensor_meta(i); });
  text += repr_values(
      "out", meta.num_outputs(), [&](size_t i) { return meta.output_tag(i); },
      [&](size_t i) { return meta.output_tensor_meta(i); });
  return text + ")";
}

nb::tuple sizes_of(const MetadataOfTensor& tensor) {
  nb::list sizes;
  for (const SizesType size : tensor.info.sizes) sizes.append(size);
  return nb::tuple(sizes);
}

nb::tuple dim_order_of(const MetadataOfTensor& tensor) {
  nb::list order;
  for (const DimOrderType axis : tensor.info.dim_order) order.append(static_cast<int>(axis));
  return nb::tuple(order);
}

nb::list planned_sizes(const MetadataOfMethod& method) {
  nb::list sizes;
  for (size_t i = 0; i < method.meta.num_memory_planned_buffers(); ++i) {
    sizes.append(value_of(method.meta.memory_planned_buffer_size(i)));
  }
  return sizes;
}

nb::list operators(const MetadataOfMethod& method) {
  nb::list names;
  for (size_t i = 0; i < method.meta.num_operators(); ++i) {
    const OperatorName name = value_of(method.meta.operator_name(i));
    std::string text(name.name);
    if (!name.overload.empty()) text += "." + std::string(name.overload);
    names.append(to_str(text));
  }
  return names;
}

nb::list backends(const MetadataOfMethod& method) {
  nb::list names;
  for (size_t i = 0; i < method.meta.num_backends(); ++i) {
    names.append(to_str(value_of(method.meta.backend_name(i))));
  }
  return names;
}

}  // namespace

std::string describe(ScalarType dtype, Span<const SizesType> sizes) {
  std::string text = std::string(dtype_name(dtype)) + '[';
  for (size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return text + ']';
}

std::string describe(const TensorInfo& info, const std::vector<SizeRange>& ranges) {
  if (info.dynamism == ShapeDynamism::STATIC) return describe(info.dtype, info.sizes);
  std::string text = std::string(dtype_name(info.dtype)) + '[';
  for (size_t i = 0; i < info.sizes.size(); ++i) {
    if (i > 0) text += ", ";
    if (ranges.empty() || ranges[i].low < 0) {
      text += "<=" + std::to_string(info.sizes[i]);
      continue;
    }
    const SizeRange& range = ranges[i];
    text += std::to_string(range.low);
    if (range.high != range.low) text += ".." + (range.high < 0 ? "" : std::to_string(range.high));
  }
  return text + ']';
}

std::vector<SizeRange> input_ranges(const Program& program, std::string_view method, size_t input,
                                    const TensorInfo& info) {
  std::vector<SizeRange> ranges(info.sizes.size(), SizeRange{-1, -1});
  if (info.dynamism == ShapeDynamism::STATIC) return ranges;
  const Error error = read_input_ranges(program, method, input, Span<SizeRange>(ranges.data(), ranges.size()));
  if (error != Error::Ok) raise_if(error);
  return ranges;
}

namespace {

nb::object input_tag(const MetadataOfMethod& method, size_t index) {
  check_index(index, method.meta.num_inputs(), "input", method.meta);
  return tag_name(value_of(method.meta.input_tag(index)));
}

nb::object output_tag(const MetadataOfMethod& method, size_t index) {
  check_index(index, method.meta.num_outputs(), "output", method.meta);
  return tag_name(value_of(method.meta.output_tag(index)));
}

TensorInfo tensor_of(const Result<TensorInfo>& info) {
  if (!info.ok()) raise_index_error(last_error_message());
  return *info;
}

MetadataOfTensor input_tensor_meta(const MetadataOfMethod& method, size_t index) {
  check_index(index, method.meta.num_inputs(), "input", method.meta);
  const TensorInfo info = tensor_of(method.meta.input_tensor_meta(index));
  return {method.program, info, input_ranges(method.program->program(), method.meta.name(), index, info)};
}

MetadataOfTensor output_tensor_meta(const MetadataOfMethod& method, size_t index) {
  check_index(index, method.meta.num_outputs(), "output", method.meta);
  return {method.program, tensor_of(method.meta.output_tensor_meta(index)), {}};
}

MetadataOfTensor attribute_tensor_meta(const MetadataOfMethod& method, size_t index) {
  check_index(index, method.meta.num_attributes(), "attribute", method.meta);
  return {method.program, value_of(method.meta.attribute_tensor_meta(index)), {}};
}

void bind_tensor_info(nb::module_& module) {
  using TensorMeta = MetadataOfTensor;
  nb::class_<TensorMeta>(module, "TensorInfo", "The description of a tensor in a program.")
      .def("sizes", &sizes_of, nb::sig("def sizes(self) -> tuple[int, ...]"),
           "Returns the sizes, which are upper bounds if the shape is dynamic.")
      .def("dim_order", &dim_order_of, nb::sig("def dim_order(self) -> tuple[int, ...]"),
           "Returns the dimensions from outermost to innermost in memory.")
      .def(
          "dtype", [](const TensorMeta& t) { return static_cast<int>(t.info.dtype); },
          "Returns the number of the dtype, which is that of c10::ScalarType.")
      .def(
          "dtype_name", [](const TensorMeta& t) { return dtype_name(t.info.dtype); },
          "Returns the name of the dtype, such as 'float32'.")
      .def(
          "nbytes", [](const TensorMeta& t) { return t.info.nbytes; },
          "Returns the bytes of a tensor with the sizes of `sizes()`.")
      .def(
          "description", [](const TensorMeta& t) { return describe(t.info, t.ranges); },
          "Returns the dtype and the sizes, such as 'float32[2..16, 8]', or 'float32[<=16, <=8]' if the program\n"
          "contains only upper bounds.")
      .def("is_dynamic", [](const TensorMeta& t) { return t.info.dynamism != ShapeDynamism::STATIC; })
      .def(
          "is_memory_planned", [](const TensorMeta& t) { return t.info.is_memory_planned; },
          "Returns False if the caller provides the memory.")
      .def(
          "name", [](const TensorMeta& t) { return to_str(t.info.name); },
          "Returns the name of a buffer or parameter, or ''.")
      .def("__repr__", [](const TensorMeta& t) { return to_str(repr(t.info)); });
}

void bind_method_meta(nb::module_& module) {
  using namespace nb::literals;
  using Method = MetadataOfMethod;
  nb::class_<Method>(module, "MethodMeta", "The description of a method in a program.")
      .def("name", [](const Method& m) { return to_str(m.meta.name()); })
      .def("num_inputs", [](const Method& m) { return m.meta.num_inputs(); })
      .def("num_outputs", [](const Method& m) { return m.meta.num_outputs(); })
      .def("num_attributes", [](const Method& m) { return m.meta.num_attributes(); })
      .def("num_instructions", [](const Method& m) { return m.meta.num_instructions(); })
      .def("input_tag", &input_tag, "index"_a, nb::sig("def input_tag(self, index: int) -> str"),
           "Returns the type of an input: 'Tensor', 'Int', 'Double', 'Bool', 'String' or 'None'.")
      .def("output_tag", &output_tag, "index"_a, nb::sig("def output_tag(self, index: int) -> str"))
      .def("input_tensor_meta", &input_tensor_meta, "index"_a,
           "Returns the description of an input tensor.\n"
           "\n"
           "Raises:\n"
           "    IndexError: The index is too large, or the input is not a tensor.")
      .def("output_tensor_meta", &output_tensor_meta, "index"_a)
      .def("attribute_tensor_meta", &attribute_tensor_meta, "index"_a)
      .def("planned_sizes", &planned_sizes, nb::sig("def planned_sizes(self) -> list[int]"),
           "Returns the bytes of each planned memory.")
      .def("operators", &operators, nb::sig("def operators(self) -> list[str]"),
           "Returns the operators that the method calls, such as 'aten::add.out'.")
      .def("backends", &backends, nb::sig("def backends(self) -> list[str]"), "Returns the backend of each delegate.")
      .def(
          "input_spec", [](const Method& m) { return to_str(m.meta.encoded_input_spec()); },
          "Returns the pytree of the inputs as JSON text, or ''.")
      .def("output_spec", [](const Method& m) { return to_str(m.meta.encoded_output_spec()); })
      .def("__repr__", [](const Method& m) { return to_str(repr(m.meta)); });
}

}  // namespace

void bind_metadata(nb::module_& module) {
  bind_tensor_info(module);
  bind_method_meta(module);
}

}  // namespace rushlight::python
