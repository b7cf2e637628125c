#include "rushlight/exec/bundled_test.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/message.h"
#include "platform/format.h"
#include "rushlight/core/half.h"

namespace rushlight {
namespace {

// The tensor of a bundled value, with the memory for its strides.
struct BundledTensor {
  explicit BundledTensor(const BundledValue& value) {
    const TensorLayout& layout = value.layout;
    strides_from_dim_order(layout.sizes, layout.dim_order.data(), strides);
    for (size_t i = 0; i < layout.sizes.size(); ++i) sizes[i] = layout.sizes[i];
    impl.data = const_cast<void*>(value.data);  // inputs and expected outputs are only read
    impl.sizes = sizes;
    impl.strides = strides;
    impl.dim_order = layout.dim_order.data();
    impl.numel = checked_numel(layout.sizes);
    impl.capacity = layout.nbytes;
    impl.dtype = layout.dtype;
    impl.dim = static_cast<uint8_t>(layout.sizes.size());
  }
  SizesType sizes[kMaxDim];
  StridesType strides[kMaxDim];
  TensorImpl impl;
};

// Returns the address of an element by its row-major index.
const uint8_t* element(const Tensor& tensor, int64_t index) {
  int64_t place = 0;
  for (int64_t axis = tensor.dim(); axis-- > 0; index /= tensor.size(axis)) {
    place += index % tensor.size(axis) * tensor.stride(axis);
  }
  return static_cast<const uint8_t*>(tensor.const_data_ptr()) + static_cast<size_t>(place) * tensor.element_size();
}

template <typename T>
double number_at(const uint8_t* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof(T));
  if constexpr (std::is_same_v<T, double>) return number;
  return static_cast<double>(static_cast<float>(number));
}

using ReadNumber = double (*)(const uint8_t* bytes);

// Returns the function that reads a floating-point number, or null for other dtypes: their elements must be equal.
ReadNumber reader_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Float:
      return number_at<float>;
    case ScalarType::Double:
      return number_at<double>;
    case ScalarType::Half:
      return number_at<Half>;
    case ScalarType::BFloat16:
      return number_at<BFloat16>;
    default:
      return nullptr;
  }
}

struct Tolerance {
  double relative;
  double absolute;
  bool is_close(double actual, double expected) const {
    if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected);
    if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
    return std::fabs(actual - expected) <= absolute + relative * std::fabs(expected);
  }
};

// The output and the test case that are compared, for messages.
struct ComparedOutput {
  const char* method;
  size_t test_case;
  size_t output;
};

Error compare_tensors(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                      const ComparedOutput& place) {
  bool is_same_shape = actual.dim() == expected.dim();
  for (int64_t axis = 0; is_same_shape && axis < actual.dim(); ++axis) {
    is_same_shape = actual.size(axis) == expected.size(axis);
  }
  RL_REQUIRE(
      actual.scalar_type() == expected.scalar_type() && is_same_shape, InvalidType,
      "output %zu of method '%.80s' (%s, %lld elements, %lld dimensions) differs in dtype or sizes from test case "
      "%zu (%s, %lld elements, %lld dimensions)",
      place.output, place.method, dtype_name(actual.scalar_type()), static_cast<long long>(actual.numel()),
      static_cast<long long>(actual.dim()), place.test_case, dtype_name(expected.scalar_type()),
      static_cast<long long>(expected.numel()), static_cast<long long>(expected.dim()));
  const ReadNumber read = reader_of(actual.scalar_type());
  int64_t first = -1;
  int64_t count = 0;
  double largest = 0;
  for (int64_t i = 0; i < actual.numel(); ++i) {
    const uint8_t* a = element(actual, i);
    const uint8_t* b = element(expected, i);
    if (read ? tolerance.is_close(read(a), read(b)) : std::memcmp(a, b, actual.element_size()) == 0) continue;
    if (first < 0) first = i;
    ++count;
    const double difference = read ? std::fabs(read(a) - read(b)) : 0;
    if (!(difference <= largest) && !std::isnan(largest)) largest = difference;  // NaN if one of them is NaN
  }
  if (count == 0) return Error::Ok;
  char numbers[120] = "";
  if (read) {
    format_text(numbers, sizeof(numbers), " (%g, expected %g; the largest difference is %g)",
                read(element(actual, first)), read(element(expected, first)), largest);
  }
  return fail(Error::InvalidState,
              "output %zu of method '%.80s' differs from test case %zu: %lld of %lld elements, the first is number "
              "%lld%s; rtol is %g and atol is %g",
              place.output, place.method, place.test_case, static_cast<long long>(count),
              static_cast<long long>(actual.numel()), static_cast<long long>(first), numbers, tolerance.relative,
              tolerance.absolute);
}

double as_double(const EValue& value) {
  if (value.tag == Tag::Int) return static_cast<double>(value.to_int());
  return value.tag == Tag::Double ? value.to_double() : static_cast<double>(value.to_bool());
}

Error compare_values(const EValue& actual, const BundledValue& expected, const Tolerance& tolerance,
                     const ComparedOutput& place) {
  const Tag tag = expected.is_tensor() ? Tag::Tensor : expected.number.tag;
  RL_REQUIRE(actual.tag == tag, InvalidType,
             "output %zu of method '%.80s' is a %s, but test case %zu expects a value of type %s", place.output,
             place.method, to_string(actual.tag), place.test_case, to_string(tag));
  if (expected.is_tensor()) {
    BundledTensor tensor(expected);
    return compare_tensors(actual.to_tensor(), Tensor(&tensor.impl), tolerance, place);
  }
  const bool is_equal = tag == Tag::Int    ? actual.to_int() == expected.number.to_int()
                        : tag == Tag::Bool ? actual.to_bool() == expected.number.to_bool()
                                           : tolerance.is_close(actual.to_double(), expected.number.to_double());
  RL_REQUIRE(is_equal, InvalidState, "output %zu of method '%.80s' is %g, but test case %zu expects %g", place.output,
             place.method, as_double(actual), place.test_case, as_double(expected.number));
  return Error::Ok;
}

}  // namespace

Error load_bundled_input(Method& method, const BundledProgram& bundled_program, size_t testset_idx) {
  const std::string_view name = method.meta().name();
  RL_ASSIGN(const size_t count, bundled_program.num_inputs(name, testset_idx));
  RL_REQUIRE(count == method.inputs_size(), InvalidArgument,
             "test case %zu has %zu input%s, but method '%.80s' takes %zu", testset_idx, count, plural(count),
             name.data(), method.inputs_size());
  for (size_t i = 0; i < count; ++i) {
    RL_ASSIGN(const BundledValue value, bundled_program.input(name, testset_idx, i));
    if (!value.is_tensor()) {
      RL_TRY(method.set_input(i, value.number));
      continue;
    }
    BundledTensor tensor(value);
    RL_TRY(method.set_input(i, EValue(&tensor.impl)));
  }
  return Error::Ok;
}

Error verify_method_outputs(const Method& method, const BundledProgram& bundled_program, size_t testset_idx,
                            double rtol, double atol) {
  const std::string_view name = method.meta().name();
  RL_REQUIRE(rtol >= 0 && atol >= 0, InvalidArgument, "rtol %g and atol %g must not be negative", rtol, atol);
  RL_ASSIGN(const size_t count, bundled_program.num_expected_outputs(name, testset_idx));
  RL_REQUIRE(count > 0 || method.outputs_size() == 0, NotFound,
             "test case %zu of method '%.80s' has no expected outputs", testset_idx, name.data());
  RL_REQUIRE(count == method.outputs_size(), InvalidType,
             "test case %zu expects %zu output%s, but method '%.80s' has %zu", testset_idx, count, plural(count),
             name.data(), method.outputs_size());
  for (size_t i = 0; i < count; ++i) {
    RL_ASSIGN(const BundledValue expected, bundled_program.expected_output(name, testset_idx, i));
    RL_TRY(compare_values(method.get_output(i), expected, {rtol, atol}, {name.data(), testset_idx, i}));
  }
  return Error::Ok;
}

}  // namespace rushlight
