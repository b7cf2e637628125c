#include "executorch/extension/module/module.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <unordered_set>
#include <vector>

#include "executorch/extension/memory_allocator/malloc_memory_allocator.h"
#include "executorch/extension/tensor/tensor.h"
#include "tests/executorch/programs.h"
#include "tests/support/data_file_builder.h"

namespace executorch {
namespace {

using extension::Module;
using runtime::Error;
using runtime::EValue;
using runtime::Method;

TEST(ExecuTorchModule, RunsWithALoaderOfTheApplication) {
  int loads = 0;
  Module module(loader_of(adding("aten::add", "out"), &loads), std::make_unique<extension::MallocMemoryAllocator>());
  EXPECT_FALSE(module.is_loaded());
  const auto x = extension::make_tensor_ptr({1.0f, 2.0f});
  auto outputs = module.forward({x, x});
  ASSERT_TRUE(outputs.ok());
  EXPECT_GT(loads, 0);
  EXPECT_EQ(floats(outputs->at(0)), (std::vector<float>{2, 4}));
  ASSERT_EQ(module.set_input(extension::full({2}, 5), 0), Error::Ok);
  EXPECT_EQ(floats(*module.get("forward")), (std::vector<float>{6, 7}));
  EXPECT_EQ(*module.method_names(), std::unordered_set<std::string>{"forward"});
  EXPECT_EQ(module.method_meta("forward")->input_tensor_meta(0)->nbytes(), 8u);
  EXPECT_EQ(module.method_meta("backward").error(), Error::InvalidArgument);
  EXPECT_EQ(module.load_method("backward"), Error::InvalidArgument);
  EXPECT_EQ(module.set_input(EValue(int64_t{1}), 0), Error::InvalidArgument) << "not a tensor";
  EXPECT_EQ(module.forward({x, EValue(1.0)}).error(), Error::InvalidArgument);
  EXPECT_EQ(module.forward(x).ok(), true) << "the second input stays";
  EXPECT_EQ(module.set_inputs({x}), Error::InvalidArgument) << "set_inputs() takes all inputs";
  const auto large = extension::make_tensor_ptr({1.0f, 2.0f, 3.0f});
  EXPECT_EQ(module.forward({x, large}).error(), Error::NotSupported);
  EXPECT_EQ(module.set_input(large, 1), Error::NotSupported);
  EXPECT_EQ(module.set_inputs({large, x}), Error::NotSupported);
  EXPECT_EQ(module.set_input(extension::make_tensor_ptr({1, 2}), 1), Error::InvalidArgument) << "another dtype";
  EXPECT_TRUE(module.unload_forward());
  EXPECT_EQ(module.forward(x).error(), Error::InvalidArgument) << "the second input was never set";
}

TEST(ExecuTorchModule, SharesItsProgramWithOtherModules) {
  int loads = 0;
  auto first = std::make_unique<Module>(loader_of(adding("aten::add", "out"), &loads));
  EXPECT_EQ(first->program(), nullptr);
  ASSERT_EQ(first->load(), Error::Ok);
  Module second(first->program());
  first.reset();
  EXPECT_GE(loads, 0) << "the loader still exists";
  const auto x = extension::make_tensor_ptr({1.0f, 2.0f});
  const auto outputs = second.forward({x, x});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(floats(outputs->at(0)), (std::vector<float>{2, 4}));
}

TEST(ExecuTorchModule, LoadsDataFilesAgainAfterAnError) {
  const std::string folder = ::testing::TempDir();
  const std::string program = folder + "executorch_module.pte", data = folder + "executorch_module.ptd",
                    later = folder + "executorch_module_later.ptd";
  const auto data_file = [](const char* key) {
    ::rushlight::testing::DataSpec entry;
    entry.key = key;
    entry.is_tensor = false;
    ::rushlight::testing::DataFileSpec spec;
    spec.entries = {entry};
    spec.segments = {{0, 4}};
    spec.segment_data = {1, 2, 3, 4};
    return ::rushlight::testing::build(spec);
  };
  const auto write = [](const std::string& path, const std::vector<uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  };
  write(program, adding("aten::add", "out"));
  write(data, data_file("a"));
  std::remove(later.c_str());
  Module module(program, std::vector<std::string>{data, later});
  EXPECT_EQ(module.load(), Error::AccessFailed);
  write(later, {1, 2, 3});
  EXPECT_EQ(module.load(), Error::InvalidExternalData);
  EXPECT_EQ(module.load(), Error::InvalidExternalData);
  write(later, data_file("b"));
  EXPECT_EQ(module.load(), Error::Ok);
  EXPECT_EQ(module.load(), Error::Ok);
  for (const std::string& path : {program, data, later}) std::remove(path.c_str());
}

// The first output is in the memory of the first input, and the second output is the second input.
TEST(ExecuTorchModule, TakesOutputsOfTheLastExecution) {
  for (const bool shares_arenas : {false, true}) {
    ::rushlight::testing::ProgramSpec spec = ::rushlight::testing::add_program();
    spec.plans[0].values[2] = ::rushlight::testing::value(::rushlight::testing::planned({2}, 0));
    spec.plans[0].outputs = {2, 1};
    spec.plans[0].operators = {{"aten::add", "out"}};
    int loads = 0;
    Module module(loader_of(::rushlight::testing::build(spec), &loads), nullptr, nullptr, nullptr, nullptr,
                  shares_arenas);
    const auto x = extension::make_tensor_ptr({1.0f, 2.0f}), y = extension::make_tensor_ptr({10.0f, 20.0f});
    const auto first = module.forward({x, y});
    ASSERT_TRUE(first.ok());
    const auto outputs = module.forward({first->at(1), first->at(0)});
    ASSERT_TRUE(outputs.ok());
    EXPECT_EQ(floats(outputs->at(0)), (std::vector<float>{21, 42}));
    EXPECT_EQ(floats(outputs->at(1)), (std::vector<float>{11, 22}));
    ASSERT_EQ(module.set_inputs({outputs->at(1), outputs->at(0)}), Error::Ok);
    EXPECT_EQ(floats(*module.get("forward")), (std::vector<float>{32, 64}));
    const std::vector<EValue> results = *module.get_outputs();
    Method* const method = *module.method("forward");
    ASSERT_EQ(method->set_inputs({{results[1], results[0]}}), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), (std::vector<float>{53, 106}));
  }
}

}  // namespace
}  // namespace executorch
