#include "rushlight/program/data_file.h"

#include <functional>

#include "rushlight/program/buffer_loader.h"
#include "tests/support/data_file_builder.h"
#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

DataFileSpec two_entries() {
  DataFileSpec spec;
  spec.segments = {{0, 8}, {16, 3}};
  spec.entries = {{"layer.weight", 0, true, ScalarType::Float, {2, 1}, {0, 1}}, {"blob", 1, false, {}, {}, {}}};
  spec.segment_data = std::vector<uint8_t>(19, 0);
  const float numbers[] = {5, 6};
  std::memcpy(spec.segment_data.data(), numbers, sizeof(numbers));
  spec.segment_data[18] = 7;
  return spec;
}

TEST(DataFile, GivesTensorsAndBlobsByName) {
  const std::vector<uint8_t> bytes = build(two_entries());
  BufferDataLoader loader(bytes.data(), bytes.size());
  const auto file = DataFile::load(&loader);
  ASSERT_TRUE(file.ok()) << last_error_message();
  ASSERT_EQ(file->size(), 2u);
  EXPECT_STREQ(file->key(0), "layer.weight");
  EXPECT_STREQ(file->key(1), "blob");
  EXPECT_TRUE(file->has("blob"));
  EXPECT_FALSE(file->has("layer"));
  const auto layout = file->tensor_layout("layer.weight");
  ASSERT_TRUE(layout.ok()) << last_error_message();
  EXPECT_EQ(layout->dtype, ScalarType::Float);
  EXPECT_EQ(layout->nbytes, 8u);
  ASSERT_EQ(layout->sizes.size(), 2u);
  EXPECT_EQ(layout->sizes[0], 2);
  EXPECT_EQ(file->tensor_layout("blob").error(), Error::NotFound);
  EXPECT_MESSAGE("'blob' in the data file is not a tensor");
  const auto blob = file->data("blob");
  ASSERT_TRUE(blob.ok());
  ASSERT_EQ(blob->size(), 3u);
  EXPECT_EQ(static_cast<const uint8_t*>(blob->data())[2], 7);
  float numbers[2];
  EXPECT_EQ(file->load_into("layer.weight", numbers, sizeof(numbers)), Error::Ok);
  EXPECT_EQ(numbers[1], 6);
  EXPECT_EQ(file->load_into("blob", numbers, sizeof(numbers)), Error::InvalidArgument);
  EXPECT_EQ(file->data("nothing").error(), Error::NotFound);
  EXPECT_MESSAGE("the data file has no entry named 'nothing'");
}

TEST(DataFile, RefusesWrongContents) {
  struct Case {
    const char* message;
    std::function<void(DataFileSpec&)> change;
  };
  const Case cases[] = {
      {"schema version 2", [](DataFileSpec& spec) { spec.version = 2; }},
      {"segment 1 is outside of the data file", [](DataFileSpec& spec) { spec.segments[1].second = 4; }},
      {"segment 0 is outside of the data file", [](DataFileSpec& spec) { spec.segments[0].first = ~uint64_t{0}; }},
      {"'blob' is in segment 2, but there are 2", [](DataFileSpec& spec) { spec.entries[1].segment = 2; }},
      {"item 1 of the data file has an empty name", [](DataFileSpec& spec) { spec.entries[1].key = ""; }},
      {"'layer.weight' is a tensor of 12 bytes in a segment of 8",
       [](DataFileSpec& spec) { spec.entries[0].sizes = {3, 1}; }},
      {"its dim order is not a permutation", [](DataFileSpec& spec) { spec.entries[0].dim_order = {1, 1}; }},
      {"its dtype is unknown", [](DataFileSpec& spec) { spec.entries[0].dtype = static_cast<ScalarType>(77); }},
  };
  for (const Case& test : cases) {
    DataFileSpec spec = two_entries();
    test.change(spec);
    const std::vector<uint8_t> bytes = build(spec);
    BufferDataLoader loader(bytes.data(), bytes.size());
    EXPECT_FALSE(DataFile::load(&loader).ok()) << test.message;
    EXPECT_MESSAGE(test.message);
  }
}

TEST(DataFile, SurvivesDamage) {
  const std::vector<uint8_t> good = build(two_entries());
  const auto read = [](const std::vector<uint8_t>& bytes, size_t size) {
    const std::vector<uint8_t> copy(bytes.begin(), bytes.begin() + static_cast<long>(size));
    BufferDataLoader loader(copy.data(), size);
    const auto file = DataFile::load(&loader);
    if (!file.ok()) return file.error();
    for (uint32_t i = 0; i < file->size(); ++i) {
      const auto data = file->data(file->key(i));
      if (!data.ok()) return data.error();
      size_t sum = 0;
      for (size_t j = 0; j < data->size(); ++j) sum += static_cast<const uint8_t*>(data->data())[j];
      EXPECT_LE(sum, 255 * data->size());
    }
    return Error::Ok;
  };
  EXPECT_EQ(read(good, good.size()), Error::Ok);
  for (size_t size = 0; size < good.size(); ++size) EXPECT_NE(read(good, size), Error::Ok) << size;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int bad : {good[at] ^ 1, good[at] ^ 0x80, good[at] + 4, 0, 0xff}) {
      std::vector<uint8_t> bytes = good;
      bytes[at] = static_cast<uint8_t>(bad);
      if (read(bytes, bytes.size()) == Error::Ok) continue;
      EXPECT_STRNE(last_error_message(), "");
    }
  }
}

TensorSpec external(bool is_planned) {
  TensorSpec tensor;
  tensor.sizes = {2, 1};
  tensor.is_planned = is_planned;
  tensor.offset = 64;
  tensor.location = 1;
  tensor.name = "layer.weight";
  return tensor;
}

ProgramSpec external_program(bool is_planned) {
  ProgramSpec spec = add_program();
  for (int i = 0; i < 3; ++i) spec.plans[0].values[i] = value(planned({2, 1}, 16 * i));
  spec.plans[0].values.push_back(value(external(is_planned)));
  spec.plans[0].chains[0][0] = kernel_call(0, {0, 4, 3, 2, 2});
  spec.plans[0].memories = {0, 72};
  return spec;
}

TEST(ExternalData, BecomesConstantsAndState) {
  const std::vector<uint8_t> data_bytes = build(two_entries());
  BufferDataLoader loader(data_bytes.data(), data_bytes.size());
  const auto data = DataFile::load(&loader);
  ASSERT_TRUE(data.ok());
  for (const bool is_planned : {false, true}) {
    Environment environment = test_environment();
    environment.data = &*data;
    Fixture fixture(external_program(is_planned), environment);
    ASSERT_TRUE(fixture.ok()) << fixture.message;
    OwnTensor<float> x({2, 1}, {1, 2});
    ASSERT_EQ(fixture.method().set_input(0, x.value()), Error::Ok);
    ASSERT_EQ(fixture.method().execute(), Error::Ok) << last_error_message();
    EXPECT_EQ(floats_of(fixture.method().get_output(0)), (std::vector<float>{6, 8}));
  }
}

TEST(ExternalData, MustBeWhatTheProgramNeeds) {
  const auto message = [](const DataFileSpec& spec) {
    const std::vector<uint8_t> bytes = build(spec);
    BufferDataLoader loader(bytes.data(), bytes.size());
    const auto data = DataFile::load(&loader);
    EXPECT_TRUE(data.ok()) << last_error_message();
    Environment environment = test_environment();
    environment.data = &*data;
    return Fixture(external_program(false), environment).message;
  };
  DataFileSpec spec = two_entries();
  spec.entries[0].sizes = {1, 2};
  EXPECT_EQ(message(spec),
            "'layer.weight' in the data file differs in dtype, shape or dim order from the tensor that method "
            "'forward' needs");
  spec = two_entries();
  spec.entries[0].dtype = ScalarType::Int;
  EXPECT_NE(message(spec).find("differs in dtype"), std::string::npos);
  spec = two_entries();
  spec.entries[0].key = "other";
  EXPECT_EQ(message(spec), "the data file has no entry named 'layer.weight'");
}

}  // namespace
}  // namespace rushlight::testing
