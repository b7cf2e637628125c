#include "rushlight/module/bundled_module.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "rushlight/exec/bundled_test.h"
#include "rushlight/trace/etdump.h"
#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

using Floats = std::vector<float>;

// The members of the union ValueUnion of schema/bundled_program.fbs.
enum class BundledTag : uint8_t { Tensor = 1, Int };

NodePtr tensor(const Floats& elements, std::vector<int32_t> sizes = {2}, int8_t dtype = 6) {
  std::vector<uint8_t> bytes(elements.size() * sizeof(float)), order;
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  for (uint8_t i = 0; i < sizes.size(); ++i) order.push_back(i);
  return tagged(BundledTag::Tensor, table_of(dtype, Node::numbers(sizes), Node::numbers(bytes), Node::numbers(order)));
}

NodePtr number(int64_t integer) { return tagged(BundledTag::Int, table_of(integer)); }

NodePtr test_case(std::vector<NodePtr> inputs, std::vector<NodePtr> outputs) {
  return table_of(Node::tables(std::move(inputs)), Node::tables(std::move(outputs)));
}

// Returns the words of a bundled program with add_program() and test cases of `method`.
std::vector<uint64_t> bundle(std::vector<NodePtr> cases, const char* method = "forward", uint32_t version = 2,
                             size_t misplaced = 0) {
  const std::vector<uint8_t> program = build(add_program());
  for (size_t padding = 0;; padding += 4) {
    // An unknown field moves the program to a multiple of 32.
    auto suite = Node::table();
    suite->set(0, Node::string(method)).set(1, Node::tables(cases)).set(7, Node::string(std::string(padding, ' ')));
    auto root = Node::table();
    root->set(0, version).set(1, Node::tables({suite})).set(2, Node::numbers(program));
    std::vector<uint8_t> bytes = {0, 0, 0, 0, 'B', 'P', '0', '8'};
    const uint32_t start = static_cast<uint32_t>(root->write(&bytes));
    std::memcpy(bytes.data(), &start, sizeof(start));
    const auto found = std::search(bytes.begin(), bytes.end(), program.begin(), program.end());
    if ((found - bytes.begin()) % 32 != static_cast<long>(misplaced)) continue;
    std::vector<uint64_t> words(bytes.size() / 8 + 3);
    if (reinterpret_cast<uintptr_t>(words.data()) % 16 != 0) words.insert(words.begin(), 0);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
  }
}

// The bytes of a bundled program, aligned to 16.
struct Aligned {
  explicit Aligned(const std::vector<uint64_t>& words) : size(words.size() * 8) {
    memory.resize(size + 16);
    data = memory.data() + (16 - reinterpret_cast<uintptr_t>(memory.data()) % 16) % 16;
    if (size > 0) std::memcpy(data, words.data(), size);
  }
  std::vector<uint8_t> memory;
  uint8_t* data;
  size_t size;
};

Module::Options options() {
  Module::Options options;
  options.environment = test_environment();
  return options;
}

NodePtr sum_case() { return test_case({tensor({1, 2}), tensor({3, 4})}, {tensor({4, 6})}); }

TEST(BundledModule, RunsAndVerifiesTestCases) {
  const Aligned file(bundle({sum_case(), test_case({tensor({1, 1}), tensor({1, 1})}, {tensor({2, 2.5})}),
                             test_case({tensor({0, 0}), tensor({0, 0})}, {})}));
  auto loaded = BundledModule::from_buffer(file.data, file.size, options());
  ASSERT_TRUE(loaded.ok()) << last_error_message();
  BundledModule& module = **loaded;
  EXPECT_EQ(*module.bundled_program().num_test_cases("forward"), 3u);
  EXPECT_EQ(*module.bundled_program().method_name(0), "forward");
  auto outputs = module.execute("forward", 0);
  ASSERT_TRUE(outputs.ok()) << last_error_message();
  EXPECT_EQ(floats_of(outputs->at(0)), (Floats{4, 6}));
  EXPECT_EQ(module.verify_method_outputs("forward", 0), Error::Ok) << last_error_message();
  ASSERT_TRUE(module.execute("forward", 1).ok());
  EXPECT_EQ(module.verify_method_outputs("forward", 1), Error::InvalidState);
  EXPECT_MESSAGE(
      "output 0 of method 'forward' differs from test case 1: 1 of 2 elements, the first is number 1 "
      "(2, expected 2.5; the largest difference is 0.5)");
  EXPECT_EQ(module.verify_method_outputs("forward", 1, 0.2), Error::Ok);
  EXPECT_EQ(module.verify_method_outputs("forward", 1, 0, 0.5), Error::Ok);
  EXPECT_EQ(module.verify_method_outputs("forward", 2), Error::NotFound);
  EXPECT_EQ(module.verify_method_outputs("forward", 0, -1), Error::InvalidArgument);
  EXPECT_EQ(module.execute("forward", 3).error(), Error::InvalidArgument);
  EXPECT_MESSAGE("there is no test case 3 of method 'forward': the bundled program has 3");
  EXPECT_EQ(module.execute("encode", 0).error(), Error::NotFound);
}

TEST(BundledModule, TheDifferenceFromNanIsNan) {
  const Aligned file(bundle({test_case({tensor({1, NAN}), tensor({1, 1})}, {tensor({7, 2})})}));
  auto loaded = BundledModule::from_buffer(file.data, file.size, options());
  ASSERT_TRUE(loaded.ok()) << last_error_message();
  ASSERT_TRUE((*loaded)->execute("forward", 0).ok()) << last_error_message();
  EXPECT_EQ((*loaded)->verify_method_outputs("forward", 0), Error::InvalidState);
  EXPECT_MESSAGE("2 of 2 elements, the first is number 0 (2, expected 7; the largest difference is nan)");
}

TEST(BundledModule, RefusesTestCasesThatDoNotFit) {
  const Aligned file(bundle({test_case({tensor({1, 2})}, {}), test_case({tensor({1, 2}), number(3)}, {}),
                             test_case({tensor({1, 2}), tensor({1, 2})}, {tensor({2, 4}, {1, 2})}),
                             test_case({tensor({1, 2}), tensor({1, 2})}, {number(2)})}));
  auto loaded = BundledModule::from_buffer(file.data, file.size, options());
  ASSERT_TRUE(loaded.ok()) << last_error_message();
  EXPECT_EQ((*loaded)->execute("forward", 0).error(), Error::InvalidArgument);
  EXPECT_MESSAGE("test case 0 has 1 input, but method 'forward' takes 2");
  EXPECT_FALSE((*loaded)->execute("forward", 1).ok());
  ASSERT_TRUE((*loaded)->execute("forward", 2).ok());
  EXPECT_EQ((*loaded)->verify_method_outputs("forward", 2), Error::InvalidType);
  EXPECT_EQ((*loaded)->verify_method_outputs("forward", 3), Error::InvalidType);
}

TEST(BundledModule, RefusesWrongFiles) {
  const auto error_of = [](const std::vector<uint64_t>& words) {
    const Aligned file(words);
    return BundledModule::from_buffer(file.data, file.size, options()).error();
  };
  EXPECT_EQ(error_of(bundle({sum_case()}, "forward", 3)), Error::NotSupported);
  EXPECT_EQ(error_of(bundle({sum_case()}, "forward", 2, 4)), Error::InvalidProgram);
  EXPECT_MESSAGE("not aligned to 16");
  EXPECT_EQ(error_of(bundle({test_case({tensor({1}, {2})}, {})})), Error::InvalidProgram);
  EXPECT_MESSAGE("input 0 of test case 0 of method 'forward' is invalid: its data end before its last element");
  EXPECT_EQ(error_of(bundle({test_case({}, {tensor({1}, {-1})})})), Error::InvalidProgram);
  EXPECT_EQ(error_of({0, 0}), Error::InvalidProgram);
  EXPECT_MESSAGE("the file identifier is not 'BP08'");
  EXPECT_EQ(error_of({}), Error::InvalidProgram);
}

TEST(BundledModule, RefusesFilesThatShareObjects) {
  const NodePtr value = tensor({1, 2});
  value->share();
  const NodePtr test = test_case(std::vector<NodePtr>(2000, value), {});
  test->share();
  const std::vector<uint64_t> words = [&] {
    auto suite = Node::table();
    suite->set(0, Node::string("forward")).set(1, Node::tables(std::vector<NodePtr>(2000, test)));
    auto root = Node::table();
    root->set(0, uint32_t{2}).set(1, Node::tables({suite}));
    root->set(2, Node::numbers(std::vector<uint64_t>(4, 0)));
    std::vector<uint8_t> bytes = {0, 0, 0, 0, 'B', 'P', '0', '8'};
    const uint32_t start = static_cast<uint32_t>(root->write(&bytes));
    std::memcpy(bytes.data(), &start, sizeof(start));
    std::vector<uint64_t> copy(bytes.size() / 8 + 1);
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    return copy;
  }();
  const Aligned file(words);
  EXPECT_EQ(BundledProgram::load(file.data, file.size).error(), Error::InvalidProgram);
}

TEST(BundledModule, ReadsDamagedFilesSafely) {
  const Aligned whole(bundle({sum_case()}));
  const size_t tables = whole.size < 400 ? whole.size : 400;
  for (size_t at = 0; at < tables; ++at) {
    for (const uint8_t mask : {0x01, 0x80, 0xff}) {
      Aligned file = Aligned(bundle({sum_case()}));
      file.data[at] ^= mask;
      auto loaded = BundledModule::from_buffer(file.data, file.size, options());
      if (!loaded.ok() || !(*loaded)->execute("forward", 0).ok()) continue;
      (void)(*loaded)->verify_method_outputs("forward", 0);
    }
  }
  for (size_t size = 0; size < whole.size; size += 4) {
    (void)BundledProgram::load(whole.data, size);
  }
}

TEST(BundledModule, TellsTheTracerTheTestCase) {
  if (!kHasTracing) GTEST_SKIP() << "this build has no event tracing";
  static uint8_t memory[8192];
  ETDumpGen tracer(memory);
  Module::Options traced = options();
  traced.environment.tracer = &tracer;
  const Aligned file(bundle({sum_case(), sum_case()}));
  auto loaded = BundledModule::from_buffer(file.data, file.size, traced);
  ASSERT_TRUE(loaded.ok()) << last_error_message();
  ASSERT_TRUE((*loaded)->execute("forward", 1).ok());
  EXPECT_EQ(tracer.get_num_blocks(), 2u);
}

}  // namespace
}  // namespace rushlight::testing
