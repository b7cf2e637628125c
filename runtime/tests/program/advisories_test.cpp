// The security advisories of ExecuTorch in 2025, one test each. An advisory describes damage that a program file could
// do at load. Each test has programs of this kind, which must be refused with an error.

#include <functional>
#include <string>
#include <vector>

#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

constexpr uint64_t kMaxU64 = ~uint64_t{0};
constexpr int64_t kMaxI64 = INT64_MAX;

struct Damage {
  const char* what;
  std::function<void(ProgramSpec&)> change;
};

PlanSpec& plan(ProgramSpec& spec) { return spec.plans[0]; }

Damage tensor(const char* what, const std::function<void(TensorSpec&)>& change) {
  return {what, [=](ProgramSpec& spec) {
            TensorSpec tensor = planned({2}, 16);
            change(tensor);
            plan(spec).values[1] = value(tensor);
          }};
}

Damage instruction(const char* what, const NodePtr& node) {
  return {what, [=](ProgramSpec& spec) { plan(spec).chains[0].push_back(node); }};
}

// Adds four floats of a segment of 32 bytes as constant `index`.
void add_constant(ProgramSpec& spec, std::vector<int32_t> sizes, uint32_t index) {
  spec.segment_data = std::vector<uint8_t>(32);
  spec.segments = {{0, 32}};
  spec.constants = {0, {0, 0, 16}};
  TensorSpec tensor = planned(std::move(sizes), 0);
  tensor.is_planned = false;
  tensor.data = index;
  plan(spec).values.push_back(value(tensor));
}

void expect_refused(const std::vector<Damage>& damages) {
  ASSERT_TRUE(Fixture(add_program()).ok()) << last_error_message();
  for (const Damage& damage : damages) {
    ProgramSpec spec = add_program();
    damage.change(spec);
    const Fixture loaded(spec);
    EXPECT_FALSE(loaded.ok()) << damage.what;
    EXPECT_NE(loaded.message, "") << damage.what;
  }
}

// Heap overflow while a method is loaded: indices that are outside of their tables.
TEST(Advisories, CVE_2025_30402) {
  expect_refused({
      {"an input behind the values", [](ProgramSpec& spec) { plan(spec).inputs[0] = 4; }},
      {"an output behind the values", [](ProgramSpec& spec) { plan(spec).outputs[0] = INT32_MAX; }},
      instruction("an argument behind the values", kernel_call(0, {0, 1, 3, 2, 4})),
      instruction("an operator behind the operators", kernel_call(1, {0, 1, 3, 2, 2})),
      instruction("a move to a place behind the values", move_call(0, 4)),
      instruction("a delegate behind the delegates", delegate_call(0, {0})),
      instruction("fewer arguments than the operator has", kernel_call(0, {0})),
  });
}

// Sums of offsets and sizes wrap around, so that allocations overlap.
TEST(Advisories, CVE_2025_30404) {
  expect_refused({
      tensor("an offset whose end wraps around", [](TensorSpec& t) { t.offset = kMaxU64 - 3; }),
      tensor("an offset whose end wraps around to the start", [](TensorSpec& t) { t.offset = kMaxU64 - 7; }),
      tensor("an offset of 4 GiB", [](TensorSpec& t) { t.offset = uint64_t{1} << 32; }),
      {"a segment whose end wraps around",
       [](ProgramSpec& spec) {
         add_constant(spec, {4}, 2);
         spec.segments = {{kMaxU64 - 15, 32}};
       }},
      {"a segment whose size wraps around",
       [](ProgramSpec& spec) {
         add_constant(spec, {4}, 2);
         spec.segments = {{16, kMaxU64}};
       }},
  });
}

// A product or sum wraps around, so that an object is outside of its memory.
TEST(Advisories, CVE_2025_30405) {
  expect_refused({
      tensor("2^32 elements of 2^32 bytes", [](TensorSpec& t) { t.sizes = {1 << 16, 1 << 16, 1 << 16, 1 << 16}; }),
      tensor("sizes whose product is 2 modulo 2^64",
             [](TensorSpec& t) { t.sizes = {INT32_MAX, INT32_MAX, INT32_MAX, 2}; }),
      tensor("sizes whose product is 0 modulo 2^64", [](TensorSpec& t) { t.sizes = {1 << 30, 1 << 30, 16}; }),
      tensor("strides that wrap around beside a size of 0",
             [](TensorSpec& t) { t.sizes = {0, 1 << 30, 1 << 30, 1 << 30}; }),
      {"a constant whose offset wraps around",
       [](ProgramSpec& spec) {
         add_constant(spec, {4}, 2);
         spec.constants.offsets[2] = kMaxU64 - 7;
       }},
  });
}

// Heap overflow while a program is loaded: a tensor has more bytes or dimensions than its memory.
TEST(Advisories, CVE_2025_54949) {
  expect_refused({
      tensor("more bytes than the planned memory", [](TensorSpec& t) { t.sizes = {64}; }),
      tensor("a wider dtype than the memory",
             [](TensorSpec& t) {
               t.dtype = ScalarType::Double;
               t.offset = 40;
             }),
      tensor("more than 16 dimensions", [](TensorSpec& t) { t.sizes = std::vector<int32_t>(255, 1); }),
      tensor("a longer order of dimensions than sizes", [](TensorSpec& t) { t.dim_order = {0, 1, 2, 3}; }),
      tensor("a shorter order of dimensions than sizes",
             [](TensorSpec& t) {
               t.sizes = {1, 2};
               t.dim_order = {0};
             }),
      tensor("an order with a dimension that is not there", [](TensorSpec& t) { t.dim_order = {200}; }),
      {"a constant that is larger than its data", [](ProgramSpec& spec) { add_constant(spec, {5}, 2); }},
  });
}

// Reads outside of the file: indices of values in lists, of constants and of segments.
TEST(Advisories, CVE_2025_54950) {
  const auto list = [](const char* what, const NodePtr& node) {
    return Damage{what, [=](ProgramSpec& spec) { plan(spec).values.push_back(node); }};
  };
  expect_refused({
      list("a tensor behind the values", tensor_list({99})),
      list("a tensor before the values", tensor_list({-1})),
      list("an optional tensor before none", optional_tensor_list({-2})),
      list("an integer behind the values", int_list({kMaxI64})),
      list("an integer before the values", int_list({INT64_MIN})),
      {"a constant behind the constants", [](ProgramSpec& spec) { add_constant(spec, {4}, 3); }},
      {"constants in a segment behind the segments",
       [](ProgramSpec& spec) {
         add_constant(spec, {4}, 2);
         spec.constants.segment = 7;
       }},
      {"named data in a segment behind the segments", [](ProgramSpec& spec) { spec.named_data = {{"key", 3}}; }},
      {"data of a delegate behind the data", [](ProgramSpec& spec) { plan(spec).delegates = {{"B", 1, 5, {}}}; }},
      {"a jump behind the instructions",
       [](ProgramSpec& spec) {
         plan(spec).values.push_back(value(true));
         plan(spec).chains[0].push_back(jump_false(4, 1 << 20));
       }},
  });
}

// Buffer overflows while a program is loaded: negative counts and indices.
TEST(Advisories, CVE_2025_54951) {
  expect_refused({
      tensor("a negative size", [](TensorSpec& t) { t.sizes = {-1}; }),
      tensor("two negative sizes", [](TensorSpec& t) { t.sizes = {-2, -2}; }),
      tensor("a negative storage offset", [](TensorSpec& t) { t.storage_offset = -4; }),
      tensor("an unknown dtype", [](TensorSpec& t) { t.dtype = static_cast<ScalarType>(-5); }),
      tensor("a memory that is not there", [](TensorSpec& t) { t.memory_id = 0xffffffff; }),
      {"a negative input", [](ProgramSpec& spec) { plan(spec).inputs[0] = INT32_MIN; }},
      instruction("a negative argument", kernel_call(0, {-1, 1, 3, 2, 2})),
      instruction("a negative operator", kernel_call(INT32_MIN, {0, 1, 3, 2, 2})),
      instruction("a negative delegate", delegate_call(-1, {})),
      instruction("a negative value that is freed", free_call(-1)),
      {"an initial value that is not there",
       [](ProgramSpec& spec) {
         TensorSpec state = planned({2}, 0);
         state.data = 1;
         state.mutable_segment = 9;
         plan(spec).values.push_back(value(state));
       }},
  });
}

// The size of planned memory wraps around, so that less memory is allocated than the tensors need.
TEST(Advisories, CVE_2025_54952) {
  const auto memory = [](const char* what, std::vector<int64_t> sizes) {
    return Damage{what, [=](ProgramSpec& spec) { plan(spec).memories = sizes; }};
  };
  expect_refused({
      memory("a negative size", {0, -48}),
      memory("the smallest integer", {0, INT64_MIN}),
      memory("a size that wraps around when it is aligned", {0, kMaxI64}),
      memory("sizes whose sum wraps around", {0, kMaxI64, kMaxI64, kMaxI64}),
      memory("no memory at all", {0}),
      memory("no list of memories", {}),
  });
}

}  // namespace
}  // namespace rushlight::testing
