#include <functional>
#include <string>
#include <vector>

#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

struct Case {
  const char* message;  // part of the error message; null if the program is valid
  std::function<void(ProgramSpec&)> change;
  Error error = Error::InvalidProgram;
};

void check(const std::vector<Case>& cases) {
  for (const Case& test : cases) {
    ProgramSpec spec = add_program();
    test.change(spec);
    const std::vector<uint8_t> bytes = build(spec);
    const auto loaded = LoadedProgram::from_buffer(bytes.data(), bytes.size());
    if (!test.message) {
      EXPECT_TRUE(loaded.ok()) << last_error_message();
      continue;
    }
    EXPECT_EQ(to_string(loaded.error()), to_string(test.error)) << test.message;
    EXPECT_MESSAGE(test.message);
  }
}

PlanSpec& plan(ProgramSpec& spec) { return spec.plans[0]; }

Case tensor_case(const char* message, const std::function<void(TensorSpec&)>& change,
                 Error error = Error::InvalidProgram) {
  return {message,
          [=](ProgramSpec& spec) {
            TensorSpec tensor = planned({2}, 16);
            change(tensor);
            plan(spec).values[1] = value(tensor);
          },
          error};
}

Case value_case(const char* message, const NodePtr& node) {
  return {message, [=](ProgramSpec& spec) { plan(spec).values.push_back(node); }};
}

Case instruction_case(const char* message, const NodePtr& node) {
  return {message, [=](ProgramSpec& spec) { plan(spec).chains[0].push_back(node); }};
}

TEST(Validator, AcceptsAGoodProgram) {
  check({{nullptr, [](ProgramSpec&) {}},
         {nullptr, [](ProgramSpec& spec) { spec.plans.clear(); }},
         {nullptr, [](ProgramSpec& spec) { plan(spec).chains.clear(); }}});
}

TEST(Validator, ChecksMethods) {
  check({
      {"schema version 1", [](ProgramSpec& spec) { spec.version = 1; }, Error::NotSupported},
      {"method 0 has an empty name", [](ProgramSpec& spec) { plan(spec).name = ""; }},
      {"two methods have the name 'forward'", [](ProgramSpec& spec) { spec.plans.push_back(spec.plans[0]); }},
      {nullptr,
       [](ProgramSpec& spec) {
         spec.plans.push_back(spec.plans[0]);
         spec.plans[1].name = "other";
       }},
      {"input 1 is value 4, but there are 4", [](ProgramSpec& spec) { plan(spec).inputs[1] = 4; }},
      {"input 0 is value -1, but there are 4", [](ProgramSpec& spec) { plan(spec).inputs[0] = -1; }},
      {"output 0 is value 9, but there are 4", [](ProgramSpec& spec) { plan(spec).outputs[0] = 9; }},
      {"input 2 is a list",
       [](ProgramSpec& spec) {
         plan(spec).values.push_back(int_list({3}));
         plan(spec).inputs.push_back(4);
       }},
      {"planned memory 1 has -48 bytes", [](ProgramSpec& spec) { plan(spec).memories[1] = -48; }},
      {nullptr, [](ProgramSpec& spec) { plan(spec).devices = {{1, 1}}; }},  // refused when the method is loaded
      {"operator 0 has an empty name", [](ProgramSpec& spec) { plan(spec).operators[0].name = ""; }},
      {"longer than 250", [](ProgramSpec& spec) { plan(spec).operators[0].name = std::string(300, 'x'); }},
  });
}

TEST(Validator, ChecksTensors) {
  check({
      tensor_case(nullptr, [](TensorSpec&) {}),
      tensor_case("dtype is unknown", [](TensorSpec& t) { t.dtype = static_cast<ScalarType>(30); }),
      tensor_case("dtype is unknown", [](TensorSpec& t) { t.dtype = static_cast<ScalarType>(18); }),
      tensor_case("dtype is unknown", [](TensorSpec& t) { t.dtype = static_cast<ScalarType>(-1); }),
      tensor_case("value 1 is a tensor with storage offset 3", [](TensorSpec& t) { t.storage_offset = 3; }),
      tensor_case("layout 2", [](TensorSpec& t) { t.layout = 2; }),
      tensor_case("shape dynamism 3", [](TensorSpec& t) { t.dynamism = 3; }),
      tensor_case("negative or too large", [](TensorSpec& t) { t.sizes = {-2}; }),
      tensor_case("negative or too large", [](TensorSpec& t) { t.sizes = {1 << 30, 1 << 30, 1 << 30}; }),
      tensor_case("strides exceed", [](TensorSpec& t) { t.sizes = {0, 1 << 20, 1 << 20}; }),
      tensor_case("not a permutation",
                  [](TensorSpec& t) {
                    t.sizes = {1, 2};
                    t.dim_order = {0, 0};
                  }),
      tensor_case("not a permutation",
                  [](TensorSpec& t) {
                    t.sizes = {1, 2};
                    t.dim_order = {0, 2};
                  }),
      tensor_case("the length of its dim order", [](TensorSpec& t) { t.dim_order = {0, 1}; }),
      tensor_case("more than 16 dimensions", [](TensorSpec& t) { t.sizes = std::vector<int32_t>(17, 1); }),
      tensor_case(nullptr, [](TensorSpec& t) { t.sizes = std::vector<int32_t>(16, 1); }),
      tensor_case("unbounded tensor without dimensions",
                  [](TensorSpec& t) {
                    t.sizes = {};
                    t.dynamism = 2;
                  }),
      tensor_case(nullptr, [](TensorSpec& t) { t.device = 1; }),  // refused when the method is loaded
      tensor_case("unknown location 2", [](TensorSpec& t) { t.location = 2; }),
      tensor_case("external data, but without a name", [](TensorSpec& t) { t.location = 1; }),
  });
}

TEST(Validator, ChecksPlannedMemory) {
  check({
      tensor_case("planned into memory 2", [](TensorSpec& t) { t.memory_id = 2; }),
      tensor_case("planned into memory 0", [](TensorSpec& t) { t.memory_id = 0; }),
      tensor_case(nullptr, [](TensorSpec& t) { t.offset = 40; }),
      tensor_case("(8 bytes at offset 44) is outside of planned memory 1, which has 48 bytes",
                  [](TensorSpec& t) { t.offset = 44; }),
      tensor_case("is outside of planned memory", [](TensorSpec& t) { t.offset = ~uint64_t{0} - 3; }),
      tensor_case("not aligned to its element of 4", [](TensorSpec& t) { t.offset = 18; }),
  });
}

void with_constant(ProgramSpec& spec, const TensorSpec& tensor) {
  spec.segment_data = std::vector<uint8_t>(32);
  spec.segments = {{0, 32}};
  spec.constants = {0, {0, 0, 16}};
  plan(spec).values.push_back(value(tensor));
}

TensorSpec constant(uint32_t data) {
  TensorSpec tensor = planned({4}, 0);
  tensor.is_planned = false;
  tensor.data = data;
  return tensor;
}

TEST(Validator, ChecksConstants) {
  check({
      {nullptr, [](ProgramSpec& spec) { with_constant(spec, constant(2)); }},
      {"value 4 refers to constant 3, but there are 3", [](ProgramSpec& spec) { with_constant(spec, constant(3)); }},
      {"refers to constant 2 at offset 16 of a segment, which has 32 bytes",
       [](ProgramSpec& spec) {
         TensorSpec tensor = constant(2);
         tensor.sizes = {5};
         with_constant(spec, tensor);
       }},
      {"has data but no static shape",
       [](ProgramSpec& spec) {
         TensorSpec tensor = constant(2);
         tensor.dynamism = 1;
         with_constant(spec, tensor);
       }},
      {"is outside of the 32 bytes of segments",
       [](ProgramSpec& spec) {
         with_constant(spec, constant(2));
         spec.segments = {{8, 32}};
       }},
      {"is outside of the 32 bytes of segments",
       [](ProgramSpec& spec) {
         with_constant(spec, constant(2));
         spec.segments = {{~uint64_t{0}, 32}};
       }},
      {"the constants are in segment 1, but there are 1",
       [](ProgramSpec& spec) {
         with_constant(spec, constant(2));
         spec.constants.segment = 1;
       }},
      {"offset 1 of the constants is outside",
       [](ProgramSpec& spec) {
         with_constant(spec, constant(2));
         spec.constants.offsets = {0, 33, 0};
       }},
      {"input 2 is a constant",
       [](ProgramSpec& spec) {
         with_constant(spec, constant(2));
         plan(spec).inputs.push_back(4);
       }},
      {nullptr,
       [](ProgramSpec& spec) {
         spec.inline_constants = {{}, std::vector<uint8_t>(16)};
         plan(spec).values.push_back(value(constant(1)));
       }},
      {"refers to constant 2, but there are 2",
       [](ProgramSpec& spec) {
         spec.inline_constants = {{}, std::vector<uint8_t>(16)};
         plan(spec).values.push_back(value(constant(2)));
       }},
      {"(16 bytes) refers to constant 1, which has 15 bytes",
       [](ProgramSpec& spec) {
         spec.inline_constants = {{}, std::vector<uint8_t>(15)};
         plan(spec).values.push_back(value(constant(1)));
       }},
  });
}

TEST(Validator, ChecksInitialValuesAndNamedData) {
  const auto with_state = [](ProgramSpec& spec, uint64_t segment, uint32_t data) {
    spec.segment_data = std::vector<uint8_t>(16);
    spec.segments = {{0, 16}};
    spec.mutable_segments = {{0, {0, 8}}};
    TensorSpec tensor = planned({2}, 0);
    tensor.data = data;
    tensor.mutable_segment = segment;
    plan(spec).values.push_back(value(tensor));
  };
  check({
      {nullptr, [&](ProgramSpec& spec) { with_state(spec, 0, 1); }},
      {"in mutable segment 1, but there are 1", [&](ProgramSpec& spec) { with_state(spec, 1, 1); }},
      {"refers to initial value 2, but there are 2", [&](ProgramSpec& spec) { with_state(spec, 0, 2); }},
      {"the initial values are in segment 4, but there are 1",
       [&](ProgramSpec& spec) {
         with_state(spec, 0, 1);
         spec.mutable_segments[0].segment = 4;
       }},
      {"refers to initial value 1 at offset 12",
       [&](ProgramSpec& spec) {
         with_state(spec, 0, 1);
         spec.mutable_segments[0].offsets[1] = 12;
       }},
      {"named data 'k' is in segment 2, but there are 0", [](ProgramSpec& spec) { spec.named_data = {{"k", 2}}; }},
      {"named data 0 has an empty key", [](ProgramSpec& spec) { spec.named_data = {{"", 0}}; }},
  });
}

TEST(Validator, ChecksLists) {
  check({
      value_case(nullptr, int_list({3, 3})),
      value_case("item 1, value 0, is not an integer", int_list({3, 0})),
      value_case("item 0, value 77, is not an integer", int_list({77})),
      value_case("item 0, value 4294967299, is not an integer", int_list({(int64_t{1} << 32) + 3})),
      value_case(nullptr, tensor_list({0, 1})),
      value_case("item 1, value 3, is not a tensor", tensor_list({0, 3})),
      value_case("item 0, value -1, is not a tensor", tensor_list({-1})),
      value_case(nullptr, optional_tensor_list({-1, 2})),
      value_case("item 0, value -2, is not a tensor or none", optional_tensor_list({-2})),
      value_case(nullptr, double_list({1.5})),
      value_case(nullptr, bool_list({1, 0})),
      value_case("bool is neither 0 nor 1", bool_list({2})),
      {nullptr,
       [](ProgramSpec& spec) {
         plan(spec).values.push_back(none());
         plan(spec).values.push_back(int_list({4}));
         plan(spec).inputs.push_back(4);
       }},
      {"item 0, value 4, is not an integer",
       [](ProgramSpec& spec) {
         plan(spec).values.push_back(none());
         plan(spec).values.push_back(int_list({4}));
       }},
  });
}

TEST(Validator, ChecksInstructions) {
  check({
      instruction_case("instruction 1 of chain 0 calls operator 1, but there are 1", kernel_call(1, {0})),
      instruction_case("calls operator -1, but there are 1", kernel_call(-1, {0})),
      instruction_case("(test::add) uses value 8 as argument 1, but there are 4", kernel_call(0, {0, 8})),
      instruction_case("calls delegate 0, but there are 0", delegate_call(0, {})),
      instruction_case(nullptr, move_call(0, 1)),
      instruction_case("moves value 0 to value 3, which is of another type", move_call(0, 3)),
      instruction_case("moves value 0 to value 4, but there are 4", move_call(0, 4)),
      instruction_case("tests value 3, which is neither", jump_false(3, 0)),
      instruction_case("tests value -1, but there are 4", jump_false(-1, 0)),
      instruction_case(nullptr, free_call(3)),
      instruction_case("frees value 4, but there are 4", free_call(4)),
  });
  const auto with_condition = [](int32_t destination) {
    return [=](ProgramSpec& spec) {
      plan(spec).values.push_back(value(true));
      plan(spec).chains[0].push_back(jump_false(4, destination));
    };
  };
  check({
      {nullptr, with_condition(0)},
      {nullptr, with_condition(2)},
      {"jumps to instruction 3, but there are 2", with_condition(3)},
      {"jumps to instruction -1, but there are 2", with_condition(-1)},
      {"a tensor of another dtype",
       [](ProgramSpec& spec) {
         TensorSpec tensor = planned({2}, 0);
         tensor.dtype = ScalarType::Int;
         plan(spec).values.push_back(value(tensor));
         plan(spec).chains[0].push_back(move_call(0, 4));
       }},
      {"moves value 4, which is a list of tensors",
       [](ProgramSpec& spec) {
         plan(spec).values.push_back(tensor_list({0}));
         plan(spec).values.push_back(tensor_list({1}));
         plan(spec).chains[0].push_back(move_call(4, 5));
       }},
  });
}

TEST(Validator, ChecksDelegates) {
  const auto with = [](DelegateSpec delegate) {
    return [=](ProgramSpec& spec) {
      plan(spec).delegates = {delegate};
      spec.inline_delegate_data = {{1, 2, 3}};
    };
  };
  check({
      {nullptr, with({"B", 0, 0, {{"key", "text"}}})},
      {"the data of delegate 0 (B) are item 1, but there are 1", with({"B", 0, 1, {}})},
      {"the data of delegate 0 (B) are item 0, but there are 0", with({"B", 1, 0, {}})},
      {"unknown location 2", with({"B", 2, 0, {}})},
      {"delegate 0 has no backend", with({"", 0, 0, {}})},
  });
}

TEST(Validator, RefusesWhatIsNoProgram) {
  std::vector<uint8_t> bytes = build(add_program());
  const auto refused = [&](const char* message, Error error = Error::InvalidProgram) {
    const auto loaded = LoadedProgram::from_buffer(bytes.data(), bytes.size());
    EXPECT_EQ(to_string(loaded.error()), to_string(error));
    EXPECT_MESSAGE(message);
  };
  bytes[7] = '3';
  refused("identifier 'ET13'", Error::NotSupported);
  bytes[4] = 'X';
  refused("not a .pte file: its file identifier is 'XT13'");
  bytes = {1, 2, 3};
  refused("it has 3 bytes");
  bytes.clear();
  refused("it has 0 bytes");
}

TEST(Validator, RefusesMoreItemsThanTheFileHasRoomFor) {
  const auto with_shared_list = [](int count) {
    return [=](ProgramSpec& spec) {
      const auto list = int_list(std::vector<int64_t>(1000, 3));
      list->share();
      for (int i = 0; i < count; ++i) plan(spec).values.push_back(list);
    };
  };
  check({{nullptr, with_shared_list(3)}, {"more items than the size of the file allows", with_shared_list(100)}});
}

}  // namespace
}  // namespace rushlight::testing
