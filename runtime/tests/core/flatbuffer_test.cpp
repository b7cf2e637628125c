#include "core/flatbuffer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "program/extended_header.h"
#include "program/flat_tensor_generated.h"
#include "program/schema_generated.h"

namespace rushlight {
namespace {

using flatbuffer::Malformed;
using flatbuffer::verify;

using Bytes = std::vector<uint8_t>;

// A copy whose memory ends with its last byte, so that a sanitizer detects any read beyond the end.
class Exact {
 public:
  explicit Exact(const Bytes& bytes) : size_(bytes.size()) {
    data_ = static_cast<uint8_t*>(std::malloc(bytes.size() + (bytes.empty() ? 1 : 0)));
    std::copy(bytes.begin(), bytes.end(), data_);
  }
  ~Exact() { std::free(data_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_;
  size_t size_;
};

Bytes golden(const char* name) {
  std::ifstream file(std::string(RUSHLIGHT_TEST_DATA "/format/") + name, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// Returns the tables of a golden .pte file without its segments.
Bytes golden_tables() {
  Bytes file = golden("every_kind.pte");
  FileLayout layout{};
  EXPECT_TRUE(read_program_layout(file.data(), kHeaderBytes, file.size(), &layout, nullptr));
  file.resize(layout.tables_size);
  return file;
}

uint64_t sum(std::string_view text) {
  uint64_t total = text.size() + (text.data()[text.size()] == '\0');
  for (const char c : text) total += static_cast<uint8_t>(c);
  return total;
}

template <class T>
uint64_t sum(flatbuffer::Vector<T> items) {
  uint64_t total = items.size();
  for (const T item : items) total += static_cast<uint64_t>(static_cast<int64_t>(item));
  return total;
}

uint64_t sum(schema::Tensor tensor) {
  const schema::ExtraTensorInfo extra = tensor.extra_tensor_info();
  const schema::AllocationDetails place = tensor.allocation_info();
  return sum(tensor.sizes()) + sum(tensor.dim_order()) + tensor.requires_grad() + tensor.data_buffer_idx() +
         static_cast<uint64_t>(tensor.scalar_type()) + place.memory_id() + place.memory_offset_low() +
         place.memory_offset_high() + sum(extra.fully_qualified_name()) + extra.mutable_data_segments_idx() +
         static_cast<uint64_t>(extra.location());
}

uint64_t sum(schema::EValue value) {
  const schema::DoubleList doubles = value.val_as_DoubleList();
  uint64_t total = static_cast<uint64_t>(value.val_type()) + doubles.items().size();
  for (const double item : doubles.items()) total += item > 0;
  return total + static_cast<uint64_t>(value.val_as_Int().int_val()) + value.val_as_Bool().bool_val() +
         (value.val_as_Double().double_val() > 0) + sum(value.val_as_Tensor()) +
         sum(value.val_as_String().string_val()) + sum(value.val_as_IntList().items()) +
         sum(value.val_as_BoolList().items()) + sum(value.val_as_TensorList().items()) +
         sum(value.val_as_OptionalTensorList().items());
}

uint64_t sum(schema::Instruction instruction) {
  return static_cast<uint64_t>(instruction.instr_args_type()) + sum(instruction.instr_args_as_KernelCall().args()) +
         sum(instruction.instr_args_as_DelegateCall().args()) +
         static_cast<uint64_t>(instruction.instr_args_as_MoveCall().move_to()) +
         static_cast<uint64_t>(instruction.instr_args_as_JumpFalseCall().destination_instruction()) +
         static_cast<uint64_t>(instruction.instr_args_as_FreeCall().value_index());
}

// Reads every field of a program, so that a sanitizer detects invalid reads of accessors.
uint64_t sum(schema::Program program) {
  uint64_t total = program.version();
  for (const schema::ExecutionPlan plan : program.execution_plan()) {
    total += sum(plan.name()) + sum(plan.container_meta_type().encoded_inp_str()) + sum(plan.inputs()) +
             sum(plan.outputs()) + sum(plan.non_const_buffer_sizes());
    for (const schema::EValue value : plan.values()) total += sum(value);
    for (const schema::Operator op : plan.operators()) total += sum(op.name()) + sum(op.overload());
    for (const schema::NonConstBufferDevice device : plan.non_const_buffer_device()) {
      total += static_cast<uint64_t>(device.device_index());
    }
    for (const schema::BackendDelegate delegate : plan.delegates()) {
      total += sum(delegate.id()) + delegate.processed().index();
      for (const schema::CompileSpec spec : delegate.compile_specs()) total += sum(spec.key()) + sum(spec.value());
    }
    for (const schema::Chain chain : plan.chains()) {
      total += sum(chain.inputs()) + sum(chain.outputs());
      for (const schema::Instruction instruction : chain.instructions()) total += sum(instruction);
      for (const schema::FrameList frames : chain.stacktrace()) {
        for (const schema::Frame frame : frames.items()) total += sum(frame.filename()) + sum(frame.context());
      }
    }
  }
  for (const schema::Buffer buffer : program.constant_buffer()) total += sum(buffer.storage());
  for (const schema::BackendDelegateInlineData data : program.backend_delegate_data()) total += sum(data.data());
  for (const schema::DataSegment segment : program.segments()) total += segment.offset() + segment.size();
  for (const schema::SubsegmentOffsets place : program.mutable_data_segments()) total += sum(place.offsets());
  for (const schema::NamedData named : program.named_data()) total += sum(named.key()) + named.segment_index();
  return total + sum(program.constant_segment().offsets());
}

// Returns whether the bytes are accepted as a program. If so, reads all of it.
bool accepts(const Bytes& bytes) {
  const Exact exact(bytes);
  Malformed malformed;
  if (!verify(schema::kProgramSchema, exact.data(), exact.size(), &malformed)) {
    EXPECT_NE(malformed.reason, nullptr);
    return false;
  }
  sum(flatbuffer::root<schema::Program>(exact.data()));
  return true;
}

TEST(Flatbuffer, ReadsWhatWasWritten) {
  const Exact file(golden_tables());
  Malformed malformed;
  ASSERT_TRUE(verify(schema::kProgramSchema, file.data(), file.size(), &malformed)) << malformed.reason;
  const auto program = flatbuffer::root<schema::Program>(file.data());
  ASSERT_EQ(program.execution_plan().size(), 2u);
  const schema::ExecutionPlan plan = program.execution_plan()[0];
  EXPECT_EQ(plan.name(), "forward");
  EXPECT_EQ(plan.values().size(), 16u);
  EXPECT_EQ(plan.values()[1].val_as_Int().int_val(), -(int64_t{1} << 62));
  EXPECT_TRUE(plan.values()[2].val_as_Bool().bool_val());
  EXPECT_EQ(plan.values()[5].val_as_String().string_val(), "sch\xc3\xb6n");
  EXPECT_EQ(plan.values()[7].val_as_DoubleList().items()[0], 0.5);
  EXPECT_TRUE(plan.values()[8].val_as_BoolList().items().data()[0]);
  const schema::Tensor tensor = plan.values()[10].val_as_Tensor();
  EXPECT_EQ(tensor.scalar_type(), schema::ScalarType::FLOAT);
  EXPECT_EQ(tensor.sizes().data()[1], 3);
  EXPECT_EQ(tensor.dim_order()[1], 1);
  EXPECT_EQ(tensor.allocation_info().memory_offset_low(), 64u);
  EXPECT_EQ(tensor.shape_dynamism(), schema::TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(plan.chains()[0].instructions()[1].instr_args_as_JumpFalseCall().destination_instruction(), 4);
  EXPECT_EQ(plan.operators()[0].overload(), "out");
  EXPECT_EQ(plan.delegates()[0].compile_specs()[0].key(), "level");
  EXPECT_EQ(program.named_data()[1].key(), "b");
}

TEST(Flatbuffer, AbsentFieldsHaveTheirDefaults) {
  const Exact file(golden_tables());
  ASSERT_TRUE(verify(schema::kProgramSchema, file.data(), file.size(), nullptr));
  const schema::ExecutionPlan plan = flatbuffer::root<schema::Program>(file.data()).execution_plan()[1];
  EXPECT_FALSE(plan.has_non_const_buffer_device());
  EXPECT_TRUE(plan.non_const_buffer_device().empty());
  const schema::Tensor tensor = plan.values()[0].val_as_Tensor();
  EXPECT_FALSE(tensor.has_allocation_info());
  EXPECT_EQ(tensor.allocation_info().memory_id(), 0u);
  EXPECT_STREQ(tensor.extra_tensor_info().fully_qualified_name().data(), "");
  EXPECT_FALSE(plan.values()[0].val_as_Int());
}

TEST(Flatbuffer, RefusesEveryTruncation) {
  const Bytes file = golden_tables();
  size_t accepted = 0;
  for (size_t size = 0; size < file.size(); ++size) {
    accepted += accepts(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(size)));
  }
  // Only missing padding at the end can remain undetected.
  EXPECT_LT(accepted, 8u);
  EXPECT_TRUE(accepts(file));
}

TEST(Flatbuffer, SurvivesEveryByteFlip) {
  const Bytes file = golden_tables();
  size_t refused = 0;
  for (size_t at = 0; at < file.size(); ++at) {
    for (const uint8_t mask : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      Bytes damaged = file;
      damaged[at] ^= mask;
      refused += !accepts(damaged);
    }
  }
  EXPECT_GT(refused, file.size());
}

TEST(Flatbuffer, SurvivesWordsOfEveryKind) {
  const Bytes file = golden_tables();
  for (size_t at = 0; at + 4 <= file.size(); at += 2) {
    for (const uint32_t word : {0u, 1u, 4u, 0x7ffffffcu, 0x7fffffffu, 0x80000000u, 0xfffffffcu, 0xffffffffu}) {
      Bytes damaged = file;
      std::memcpy(damaged.data() + at, &word, 4);
      accepts(damaged);
    }
  }
}

TEST(Flatbuffer, SurvivesRandomDamage) {
  const Bytes file = golden_tables();
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    Bytes damaged = file;
    for (unsigned j = random() % 24; j-- > 0;) damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    accepts(damaged);
  }
}

TEST(Flatbuffer, VerifiesFlatTensors) {
  Bytes file = golden("entries.ptd");
  FileLayout layout{};
  ASSERT_TRUE(read_flat_tensor_layout(file.data(), kHeaderBytes, file.size(), &layout, nullptr));
  file.resize(layout.tables_size);
  const Exact exact(file);
  ASSERT_TRUE(verify(schema::flat_tensor::kFlatTensorSchema, exact.data(), exact.size(), nullptr));
  const auto root = flatbuffer::root<schema::flat_tensor::FlatTensor>(exact.data());
  ASSERT_EQ(root.named_data().size(), 3u);
  EXPECT_EQ(root.named_data()[0].key(), "weight");
  EXPECT_EQ(root.named_data()[0].tensor_layout().scalar_type(), schema::ScalarType::HALF);
  EXPECT_EQ(root.named_data()[0].tensor_layout().dim_order()[0], 1);
  EXPECT_FALSE(root.named_data()[1].has_tensor_layout());
  EXPECT_FALSE(verify(schema::kProgramSchema, exact.data(), exact.size(), nullptr));
}

class Builder {
 public:
  Builder& words(std::initializer_list<uint32_t> words) {
    for (const uint32_t word : words) append(word, 4);
    return *this;
  }
  Builder& halves(std::initializer_list<uint16_t> halves) {
    for (const uint16_t half : halves) append(half, 2);
    return *this;
  }
  Builder& bytes(std::initializer_list<uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes);
    return *this;
  }
  const Bytes& get() const { return bytes_; }

 private:
  void append(uint32_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_.push_back(static_cast<uint8_t>(value >> 8 * i));
  }
  Bytes bytes_;
};

constexpr uint32_t kTest = 0x54534554;  // "TEST"

constexpr flatbuffer::Field kLeaf[] = {{"number", flatbuffer::Kind::Scalar, 4, false, 0}};
constexpr flatbuffer::Field kRoot[] = {
    {"flag", flatbuffer::Kind::Bool, 1, false, 0},
    {"wide", flatbuffer::Kind::Scalar, 8, false, 0},
    {"name", flatbuffer::Kind::String, 4, false, 0},
    {"leaves", flatbuffer::Kind::Tables, 4, false, 0},
    {"choice_type", flatbuffer::Kind::UnionTag, 1, false, 0},
    {"choice", flatbuffer::Kind::Union, 4, false, 0},
    {"numbers", flatbuffer::Kind::Scalars, 8, false, 0},
    {"flags", flatbuffer::Kind::Bools, 1, false, 0},
};
constexpr flatbuffer::Field kStrict[] = {{"name", flatbuffer::Kind::String, 4, true, 0}};
constexpr flatbuffer::TableInfo kTables[] = {
    {"Leaf", kLeaf, 1, nullptr, 0}, {"Root", kRoot, 8, nullptr, 0}, {"Strict", kStrict, 1, nullptr, 0}};
constexpr uint16_t kMembers[] = {0};
constexpr flatbuffer::UnionInfo kUnions[] = {{"Choice", kMembers, 1}};
constexpr flatbuffer::Schema kSmall = {kTables, kUnions, 1, 2, "TEST"};
constexpr flatbuffer::Schema kStrictSchema = {kTables, kUnions, 2, 1, "TEST"};

// An operand that may be absent, a list of operands, and a number with bounds.
constexpr flatbuffer::Field kSum[] = {
    {"inputs", flatbuffer::Kind::Scalars, 4, false, 0},
    {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
    {"low", flatbuffer::Kind::Scalar, 1, false, 0},
};
constexpr flatbuffer::Bounds kSumBounds[] = {{2, true, -3, 3}};
constexpr flatbuffer::TableInfo kSums[] = {{"Sum", kSum, 3, kSumBounds, 1}};
constexpr flatbuffer::Schema kSumSchema = {kSums, nullptr, 0, 1, "TEST"};
constexpr flatbuffer::OperandInfo kSumOperands[] = {
    {"inputs", 4, true, false, flatbuffer::Effect::Reads},
    {"bias", 6, false, true, flatbuffer::Effect::Updates},
};
constexpr flatbuffer::OperandList kSumList = {"Sum", kSumOperands, 2};

// A table with inputs 7 and 8, a bias if `bias_offset` is not 0, and a lower bound.
Builder sum_of(uint32_t bias_offset, uint8_t low) {
  Builder builder;
  builder.words({20, kTest}).halves({10, 16, 4, static_cast<uint16_t>(bias_offset), 12, 0});
  return builder.words({12, 12, 9, low, 2, 7, 8});
}

TEST(Flatbuffer, NumbersStayWithinTheirBounds) {
  Malformed malformed;
  for (const uint8_t low : {0xfd, 0, 3}) {
    const Exact exact(sum_of(8, low).get());
    EXPECT_TRUE(verify(kSumSchema, exact.data(), exact.size(), &malformed));
  }
  for (const uint8_t low : {0xfc, 4, 0x80}) {
    const Exact exact(sum_of(8, low).get());
    EXPECT_FALSE(verify(kSumSchema, exact.data(), exact.size(), &malformed));
    EXPECT_STREQ(malformed.reason, "number is out of its bounds");
    EXPECT_STREQ(malformed.field, "low");
  }
}

TEST(Flatbuffer, OperandsAreThoseThatAreThere) {
  for (const uint32_t offset : {8, 0}) {
    const Exact exact(sum_of(offset, 0).get());
    ASSERT_TRUE(verify(kSumSchema, exact.data(), exact.size(), nullptr));
    std::string found;
    flatbuffer::root<flatbuffer::Table>(exact.data())
        .for_each_operand(kSumList, [&](flatbuffer::Operand operand, flatbuffer::Effect effect) {
          found += operand.field + std::to_string(operand.index);
          found += effect == flatbuffer::Effect::Updates ? "! " : " ";
        });
    EXPECT_EQ(found, offset ? "inputs7 inputs8 bias9! " : "inputs7 inputs8 ");
  }
}

struct Refusal {
  const char* reason;
  Builder bytes;
};

TEST(Flatbuffer, NamesTheReason) {
  const Refusal refusals[] = {
      {"shorter than the smallest buffer", Builder().words({8})},
      {"wrong file identifier", Builder().words({8, 1, 0})},
      {"null offset", Builder().words({0, kTest, 0})},
      {"offset points outside of the buffer", Builder().words({0xffffffff, kTest, 0})},
      {"offset points outside of the buffer", Builder().words({12, kTest, 0})},
      {"offset points to an unaligned object", Builder().words({9, kTest, 0, 0})},
      {"vtable is outside of the buffer or unaligned", Builder().words({8, kTest, 0x80000000})},
      {"vtable is outside of the buffer or unaligned", Builder().words({8, kTest, 9})},
      {"vtable is outside of the buffer or unaligned", Builder().words({8, kTest, 7})},
      {"vtable has an invalid size", Builder().words({12, kTest}).halves({2, 4}).words({4})},
      {"vtable has an invalid size", Builder().words({12, kTest}).halves({600, 4}).words({4})},
      {"table ends outside of the buffer", Builder().words({12, kTest}).halves({4, 5}).words({4})},
      {"table ends outside of the buffer", Builder().words({12, kTest}).halves({4, 3}).words({4})},
      {"field is outside of its table", Builder().words({16, kTest}).halves({6, 4, 4, 0}).words({8})},
      {"field is outside of its table", Builder().words({16, kTest}).halves({6, 8, 3, 0}).words({8, 0})},
      {"bool is neither 0 nor 1", Builder().words({16, kTest}).halves({6, 8, 4, 0}).words({8, 2})},
      {"field is not aligned", Builder().words({16, kTest}).halves({8, 12, 0, 4}).words({8, 0, 0, 0})},
      {"string ends outside of the buffer", Builder().words({20, kTest}).halves({10, 8, 0, 0, 4, 0}).words({12, 4, 0})},
      {"string ends outside of the buffer",
       Builder().words({20, kTest}).halves({10, 8, 0, 0, 4, 0}).words({12, 4, 0xffffffff})},
      {"string is not NUL-terminated", Builder().words({20, kTest}).halves({10, 8, 0, 0, 4, 0}).words({12, 4, 0, 1})},
      {"vector ends outside of the buffer",
       Builder().words({20, kTest}).halves({12, 8, 0, 0, 0, 4}).words({12, 4, 0x40000000})},
      {"union type without a value", Builder().words({24, kTest}).halves({14, 8, 0, 0, 0, 0, 4, 0}).words({16, 1})},
      {"unknown union type", Builder().words({24, kTest}).halves({14, 8, 0, 0, 0, 0, 4, 0}).words({16, 2})},
      {"union value without a type", Builder().words({24, kTest}).halves({16, 8, 0, 0, 0, 0, 0, 4}).words({16, 4, 12})},
      {"vector elements are not aligned",
       Builder().words({28, kTest}).halves({18, 8, 0, 0, 0, 0, 0, 0, 4, 0}).words({20, 8, 0, 1, 0, 0})},
      {"bool is neither 0 nor 1",
       Builder().words({28, kTest}).halves({20, 8, 0, 0, 0, 0, 0, 0, 0, 4}).words({20, 4, 2}).bytes({1, 2})},
  };
  for (const Refusal& refusal : refusals) {
    const Exact exact(refusal.bytes.get());
    Malformed malformed;
    EXPECT_FALSE(verify(kSmall, exact.data(), exact.size(), &malformed)) << refusal.reason;
    EXPECT_STREQ(malformed.reason, refusal.reason);
    EXPECT_FALSE(verify(kSmall, exact.data(), exact.size(), nullptr));
  }
}

TEST(Flatbuffer, NamesTableFieldAndOffset) {
  const Exact exact(Builder().words({16, kTest}).halves({6, 8, 4, 0}).words({8, 2}).get());
  Malformed malformed;
  EXPECT_FALSE(verify(kSmall, exact.data(), exact.size(), &malformed));
  EXPECT_STREQ(malformed.table, "Root");
  EXPECT_STREQ(malformed.field, "flag");
  EXPECT_EQ(malformed.offset, 20u);
}

TEST(Flatbuffer, RequiredFieldsMustBeThere) {
  const Exact exact(Builder().words({12, kTest}).halves({4, 4}).words({4}).get());
  Malformed malformed;
  EXPECT_TRUE(verify(kSmall, exact.data(), exact.size(), &malformed));
  EXPECT_FALSE(verify(kStrictSchema, exact.data(), exact.size(), &malformed));
  EXPECT_STREQ(malformed.reason, "required field is absent");
}

TEST(Flatbuffer, UnknownFieldsAreIgnored) {
  const Exact exact(Builder().words({28, kTest}).halves({20, 8, 4, 0, 0, 0, 0, 0, 0, 0}).words({20, 1}).get());
  EXPECT_TRUE(verify(kSmall, exact.data(), exact.size(), nullptr));
  Builder wide;
  wide.words({32, kTest}).halves({22, 8, 0, 0, 0, 0, 0, 0, 0, 0, 60000, 0}).words({24, 1});
  const Exact newer(wide.get());
  EXPECT_TRUE(verify(kSmall, newer.data(), newer.size(), nullptr));
}

TEST(Flatbuffer, TheBufferMustBeAligned) {
  const Bytes file = golden_tables();
  const std::unique_ptr<uint64_t[]> words(new uint64_t[file.size() / 8 + 2]);
  uint8_t* shifted = reinterpret_cast<uint8_t*>(words.get()) + 4;
  std::copy(file.begin(), file.end(), shifted);
  Malformed malformed;
  EXPECT_FALSE(verify(schema::kProgramSchema, shifted, file.size(), &malformed));
  EXPECT_STREQ(malformed.reason, "the buffer is not aligned to 8 bytes");
}

// Each table has a thousand references to the next table.
TEST(Flatbuffer, SharedChildrenCannotMultiplyTheWork) {
  constexpr uint16_t kDepth = 8;
  constexpr uint32_t kCount = 1000;
  flatbuffer::Field fields[kDepth];
  flatbuffer::TableInfo tables[kDepth + 1];
  for (uint16_t i = 0; i < kDepth; ++i) {
    fields[i] = {"items", flatbuffer::Kind::Tables, 4, false, static_cast<uint8_t>(i + 1)};
    tables[i] = {"Level", &fields[i], 1, nullptr, 0};
  }
  tables[kDepth] = {"Level", nullptr, 0, nullptr, 0};
  const flatbuffer::Schema schema = {tables, nullptr, 0, kDepth + 1, "TEST"};
  Builder builder;
  builder.words({16, kTest}).halves({6, 8, 4, 0});
  for (uint16_t level = 0; level < kDepth; ++level) {
    const auto at = static_cast<uint32_t>(builder.get().size());
    builder.words({at - 8, 4, kCount});
    const uint32_t end = at + 12 + 4 * kCount;
    for (uint32_t i = 0; i < kCount; ++i) builder.words({end - (at + 12 + 4 * i)});
  }
  builder.words({static_cast<uint32_t>(builder.get().size()) - 8, 0});
  const Exact exact(builder.get());
  Malformed malformed;
  EXPECT_FALSE(verify(schema, exact.data(), exact.size(), &malformed));
  EXPECT_STREQ(malformed.reason, "too many tables refer to the same tables");
}

}  // namespace
}  // namespace rushlight
