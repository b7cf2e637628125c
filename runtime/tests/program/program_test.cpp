#include "rushlight/program/program.h"

#include <fstream>
#include <iterator>

#include "rushlight/program/buffer_loader.h"
#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

std::vector<uint8_t> read_golden(const char* name) {
  std::ifstream file(std::string(RUSHLIGHT_TEST_DATA) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Program, ListsItsMethods) {
  ProgramSpec spec = add_program();
  spec.plans.push_back(spec.plans[0]);
  spec.plans[1].name = "other";
  const std::vector<uint8_t> bytes = build(spec);
  const auto loaded = load_program(bytes);
  ASSERT_TRUE(loaded) << last_error_message();
  const Program& program = loaded->program();
  EXPECT_EQ(program.num_methods(), 2u);
  EXPECT_EQ(*program.method_name(1), "other");
  EXPECT_EQ(program.method_name(2).error(), Error::InvalidArgument);
  EXPECT_TRUE(program.has_method("forward"));
  EXPECT_FALSE(program.has_method("forwar"));
  EXPECT_EQ(program.method_meta("x").error(), Error::NotFound);
}

TEST(Program, ShortensLongListsOfMethods) {
  ProgramSpec spec;
  for (int i = 0; i < 200; ++i) {
    PlanSpec plan;
    plan.name = "method_number_" + std::to_string(i);
    spec.plans.push_back(plan);
  }
  const std::vector<uint8_t> bytes = build(spec);
  const auto loaded = load_program(bytes);
  ASSERT_TRUE(loaded) << last_error_message();
  EXPECT_EQ(loaded->program().method_meta("x").error(), Error::NotFound);
  EXPECT_MESSAGE("method_number_0, method_number_1, ");
  EXPECT_LT(std::string(last_error_message()).size(), 400u);
}

TEST(Program, GivesNamedData) {
  ProgramSpec spec = add_program();
  spec.segments = {{0, 2}, {16, 0}};
  spec.segment_data = std::vector<uint8_t>(16, 9);
  spec.named_data = {{"weights", 0}, {"empty", 1}};
  const std::vector<uint8_t> bytes = build(spec);
  const auto loaded = load_program(bytes);
  ASSERT_TRUE(loaded) << last_error_message();
  const Program& program = loaded->program();
  EXPECT_EQ(program.num_named_data(), 2u);
  EXPECT_EQ(*program.named_data_key(0), "weights");
  EXPECT_EQ(program.named_data_key(2).error(), Error::InvalidArgument);
  EXPECT_TRUE(program.has_named_data("empty"));
  const auto data = program.load_named_data("weights");
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->size(), 2u);
  EXPECT_EQ(static_cast<const uint8_t*>(data->data())[1], 9);
  EXPECT_EQ(program.load_named_data("empty")->size(), 0u);
  EXPECT_EQ(program.load_named_data("none").error(), Error::NotFound);
}

TEST(Program, ReadsTheTablesOfTheCompilersCodec) {
  // The golden file uses every feature of the format, including features that this runtime does not support.
  const std::vector<uint8_t> bytes = read_golden("format/every_kind.pte");
  ASSERT_FALSE(bytes.empty());
  const auto loaded = LoadedProgram::from_buffer(bytes.data(), bytes.size());
  EXPECT_EQ(loaded.error(), Error::Ok) << last_error_message();
}

// A custom loader: it returns copies, counts them, and can fail from a given read on.
class OwnLoader final : public DataLoader {
 public:
  explicit OwnLoader(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}

  Result<FreeableBuffer> load(size_t offset, size_t size, SegmentKind) override {
    if (++reads == failing_read) return fail(Error::AccessFailed, "the radio is off");
    if (size > bytes_.size() || offset > bytes_.size() - size) return Error::InvalidArgument;
    ++held;
    auto* const copy = new uint64_t[(size + 7) / 8];
    std::memcpy(copy, bytes_.data() + offset, size);
    const auto free = [](void* context, void* data, size_t) {
      --static_cast<OwnLoader*>(context)->held;
      delete[] static_cast<uint64_t*>(data);
    };
    return FreeableBuffer(copy, size, free, this);
  }
  Result<size_t> size() const override { return bytes_.size(); }
  Error load_into(size_t offset, size_t size, SegmentKind kind, void* buffer) override {
    RL_ASSIGN(const FreeableBuffer data, load(offset, size, kind));
    std::memcpy(buffer, data.data(), size);
    return Error::Ok;
  }

  int reads = 0, held = 0, failing_read = 0;

 private:
  std::vector<uint8_t> bytes_;
};

TEST(Program, ComesFromALoaderOfTheApplication) {
  OwnLoader loader(build(add_program()));
  {
    const auto program = Program::load(&loader);
    ASSERT_TRUE(program.ok()) << last_error_message();
    EXPECT_EQ(*program->method_name(0), "forward");
    EXPECT_GT(loader.held, 0);
  }
  EXPECT_EQ(loader.held, 0);
  for (int read = 1, count = loader.reads; read <= count; ++read) {
    loader.reads = 0;
    loader.failing_read = read;
    EXPECT_EQ(Program::load(&loader).error(), Error::AccessFailed);
    EXPECT_MESSAGE("the radio is off");
    EXPECT_EQ(loader.held, 0);
  }
}

TEST(Program, NeedsAlignedMemory) {
  const std::vector<uint8_t> bytes = build(add_program());
  std::vector<uint8_t> shifted(bytes.size() + 1);
  std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  BufferDataLoader loader(shifted.data() + 1, bytes.size());
  EXPECT_EQ(Program::load(&loader).error(), Error::InvalidProgram);
  EXPECT_MESSAGE("not aligned to 8 bytes");
}

TEST(Program, KnowsAHeader) {
  const std::vector<uint8_t> bytes = build(add_program());
  EXPECT_TRUE(is_program_header(bytes.data(), 8));
  EXPECT_FALSE(is_program_header(bytes.data(), 7));
  EXPECT_FALSE(is_program_header("12345678", 8));
}

}  // namespace
}  // namespace rushlight::testing
