#include "rushlight/program/bundled_program.h"

#include <cstring>

#include "core/message.h"
#include "program/bundled_program_generated.h"
#include "program/shape.h"
#include "program/tables.h"
#include "rushlight/core/tensor.h"

namespace rushlight {
namespace {

using schema::bundled_program::BundledMethodTestCase;
using schema::bundled_program::BundledMethodTestSuite;
using schema::bundled_program::kBundledProgramSchema;
using schema::bundled_program::Value;
using schema::bundled_program::ValueUnion;
using Root = schema::bundled_program::BundledProgram;

constexpr uint32_t kVersion = 2;
constexpr size_t kProgramAlignment = 16;

constexpr DimOrderType kRowMajor[kMaxDim] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static_assert(kMaxDim == 16, "kRowMajor lists all dimensions");

// A file may omit the dim order of a tensor whose elements are in row-major order.
Span<const DimOrderType> dim_order_of(const schema::bundled_program::Tensor& tensor) {
  if (!tensor.dim_order().empty() || tensor.sizes().size() > static_cast<size_t>(kMaxDim)) {
    return span_of(tensor.dim_order());
  }
  return {kRowMajor, tensor.sizes().size()};
}

bool is_aligned(const void* data, size_t alignment) { return reinterpret_cast<uintptr_t>(data) % alignment == 0; }

// Returns the reason why a value is invalid, or null.
const char* fault_of(const Value& value) {
  if (value.val_type() == ValueUnion::NONE) return "it has no type";
  if (value.val_type() != ValueUnion::Tensor) return nullptr;
  const auto tensor = value.val_as_Tensor();
  const auto dtype = static_cast<ScalarType>(tensor.scalar_type());
  size_t nbytes = 0;
  if (const char* fault = check_shape(dtype, span_of(tensor.sizes()), dim_order_of(tensor), &nbytes)) return fault;
  if (nbytes > tensor.data().size()) return "its data end before its last element";
  if (nbytes > 0 && !is_aligned(tensor.data().data(), element_alignment(dtype))) return "its data are not aligned";
  return nullptr;
}

Error check_values(const char* what, const flatbuffer::Vector<Value>& values, std::string_view method, uint32_t index) {
  for (uint32_t i = 0; i < values.size(); ++i) {
    const char* fault = fault_of(values[i]);
    RL_REQUIRE(!fault, InvalidProgram, "%s %u of test case %u of method '%.80s' is invalid: %s", what, i, index,
               method.data(), fault);
  }
  return Error::Ok;
}

// Counts the objects against the size of the file. An object to which several objects refer counts several times; a
// file without such objects has fewer objects than bytes.
Error spend(size_t count, size_t* budget) {
  RL_REQUIRE(count <= *budget, InvalidProgram, "the bundled program refers to the same objects too often");
  *budget -= count;
  return Error::Ok;
}

Error check(const Root& root, size_t size) {
  RL_REQUIRE(root.version() <= kVersion, NotSupported,
             "the bundled program has version %u; this runtime supports versions up to %u", root.version(), kVersion);
  RL_REQUIRE(!root.program().empty(), InvalidProgram, "the bundled program has no program");
  RL_REQUIRE(is_aligned(root.program().data(), kProgramAlignment), InvalidProgram,
             "the program in the bundled program is not aligned to %zu bytes", kProgramAlignment);
  size_t budget = size;
  for (const BundledMethodTestSuite suite : root.method_test_suites()) {
    RL_TRY(spend(suite.test_cases().size(), &budget));
    for (uint32_t i = 0; i < suite.test_cases().size(); ++i) {
      const BundledMethodTestCase test = suite.test_cases()[i];
      RL_TRY(spend(size_t{test.inputs().size()} + test.expected_outputs().size(), &budget));
      RL_TRY(check_values("input", test.inputs(), suite.method_name(), i));
      RL_TRY(check_values("expected output", test.expected_outputs(), suite.method_name(), i));
    }
  }
  return Error::Ok;
}

Result<BundledMethodTestSuite> find(const Root& root, std::string_view method) {
  for (const BundledMethodTestSuite suite : root.method_test_suites()) {
    if (suite.method_name() == method) return suite;
  }
  return fail(Error::NotFound, "the bundled program has no test cases of method '%.*s'",
              static_cast<int>(method.size() < 80 ? method.size() : 80), method.data());
}

Result<BundledMethodTestCase> find(const Root& root, std::string_view method, size_t test_case) {
  RL_ASSIGN(const BundledMethodTestSuite suite, find(root, method));
  RL_REQUIRE(test_case < suite.test_cases().size(), InvalidArgument,
             "there is no test case %zu of method '%.80s': the bundled program has %u test case%s of it", test_case,
             suite.method_name().data(), suite.test_cases().size(), plural(suite.test_cases().size()));
  return suite.test_cases()[test_case];
}

Result<BundledValue> value_at(const flatbuffer::Vector<Value>& values, size_t index) {
  RL_REQUIRE(index < values.size(), InvalidArgument, "there is no value %zu: the test case has %u values", index,
             values.size());
  const Value value = values[index];
  BundledValue result{};
  switch (value.val_type()) {
    case ValueUnion::Int:
      result.number = EValue(value.val_as_Int().int_val());
      break;
    case ValueUnion::Double:
      result.number = EValue(value.val_as_Double().double_val());
      break;
    case ValueUnion::Bool:
      result.number = EValue(value.val_as_Bool().bool_val());
      break;
    default: {
      const auto tensor = value.val_as_Tensor();
      const auto dtype = static_cast<ScalarType>(tensor.scalar_type());
      const auto sizes = span_of(tensor.sizes());
      result.layout = {dtype, sizes, dim_order_of(tensor),
                       static_cast<size_t>(checked_numel(sizes)) * element_size(dtype)};
      result.data = tensor.data().data();
    }
  }
  return result;
}

}  // namespace

bool is_bundled_program(const void* data, size_t size) {
  return size >= 8 && std::memcmp(static_cast<const uint8_t*>(data) + 4, kBundledProgramSchema.identifier, 4) == 0;
}

Result<BundledProgram> BundledProgram::load(const void* data, size_t size) {
  RL_REQUIRE(is_bundled_program(data, size), InvalidProgram, "not a bundled program: the file identifier is not '%s'",
             kBundledProgramSchema.identifier);
  RL_REQUIRE(is_aligned(data, kProgramAlignment), InvalidArgument,
             "the memory of a bundled program must begin at a multiple of %zu", kProgramAlignment);
  flatbuffer::Malformed why;
  if (!flatbuffer::verify(kBundledProgramSchema, data, size, &why)) {
    return fail(Error::InvalidProgram, "the bundled program is damaged: %s (%s%s%s, byte %zu)", why.reason,
                why.table ? why.table : "", why.field ? "." : "", why.field ? why.field : "", why.offset);
  }
  const BundledProgram bundle(flatbuffer::follow(static_cast<const uint8_t*>(data)));
  RL_TRY(check(Root(bundle.root_), size));
  return bundle;
}

Span<const uint8_t> BundledProgram::program_data() const { return span_of(Root(root_).program()); }

size_t BundledProgram::num_methods() const { return Root(root_).method_test_suites().size(); }

Result<std::string_view> BundledProgram::method_name(size_t index) const {
  const auto suites = Root(root_).method_test_suites();
  RL_REQUIRE(index < suites.size(), InvalidArgument, "there is no method %zu: the bundled program has %u method%s",
             index, suites.size(), plural(suites.size()));
  return suites[index].method_name();
}

Result<size_t> BundledProgram::num_test_cases(std::string_view method) const {
  RL_ASSIGN(const BundledMethodTestSuite suite, find(Root(root_), method));
  return size_t{suite.test_cases().size()};
}

Result<size_t> BundledProgram::num_inputs(std::string_view method, size_t test_case) const {
  RL_ASSIGN(const BundledMethodTestCase test, find(Root(root_), method, test_case));
  return size_t{test.inputs().size()};
}

Result<size_t> BundledProgram::num_expected_outputs(std::string_view method, size_t test_case) const {
  RL_ASSIGN(const BundledMethodTestCase test, find(Root(root_), method, test_case));
  return size_t{test.expected_outputs().size()};
}

Result<BundledValue> BundledProgram::input(std::string_view method, size_t test_case, size_t index) const {
  RL_ASSIGN(const BundledMethodTestCase test, find(Root(root_), method, test_case));
  return value_at(test.inputs(), index);
}

Result<BundledValue> BundledProgram::expected_output(std::string_view method, size_t test_case, size_t index) const {
  RL_ASSIGN(const BundledMethodTestCase test, find(Root(root_), method, test_case));
  return value_at(test.expected_outputs(), index);
}

}  // namespace rushlight
