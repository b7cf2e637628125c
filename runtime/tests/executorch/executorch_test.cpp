#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "executorch/devtools/etdump/data_sinks/file_data_sink.h"
#include "executorch/devtools/etdump/etdump_flatcc.h"
#include "executorch/extension/data_loader/buffer_data_loader.h"
#include "executorch/extension/data_loader/file_data_loader.h"
#include "executorch/extension/data_loader/mmap_data_loader.h"
#include "executorch/extension/evalue_util/print_evalue.h"
#include "executorch/extension/flat_tensor/flat_tensor_data_map.h"
#include "executorch/extension/flat_tensor/serialize/serialize.h"
#include "executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h"
#include "executorch/extension/memory_allocator/malloc_memory_allocator.h"
#include "executorch/extension/memory_allocator/memory_allocator_utils.h"
#include "executorch/extension/module/module.h"
#include "executorch/extension/tensor/tensor.h"
#include "executorch/extension/threadpool/threadpool.h"
#include "executorch/runtime/backend/interface.h"
#include "executorch/runtime/core/event_tracer_hooks_delegate.h"
#include "executorch/runtime/core/exec_aten/testing_util/tensor_factory.h"
#include "executorch/runtime/core/exec_aten/testing_util/tensor_util.h"
#include "executorch/runtime/core/portable_type/c10/c10/util/BFloat16.h"
#include "executorch/runtime/core/portable_type/c10/c10/util/Half.h"
#include "executorch/runtime/kernel/kernel_includes.h"
#include "executorch/runtime/kernel/thread_parallel_interface.h"
#include "executorch/runtime/platform/platform.h"
#include "executorch/runtime/platform/runtime.h"
#include "tests/support/data_file_builder.h"
#include "tests/support/kernels.h"

namespace executorch {
namespace {

using aten::ScalarType;
using aten::Tensor;
using aten::TensorImpl;
using extension::Module;
using runtime::Error;
using runtime::EValue;
using runtime::Kernel;
using runtime::KernelRuntimeContext;
using runtime::Method;
using runtime::Program;
using runtime::Result;
using runtime::Span;
using runtime::Tag;

// Returns the bytes of a program that adds two tensors of two floats with the given operator.
std::vector<uint8_t> adding(const char* name, const char* overload, ScalarType dtype = ScalarType::Float) {
  ::rushlight::testing::ProgramSpec spec = ::rushlight::testing::add_program();
  for (int i = 0; i < 3; ++i) {
    ::rushlight::testing::TensorSpec tensor;
    tensor.dtype = dtype;
    tensor.sizes = {2};
    tensor.offset = static_cast<uint64_t>(16 * i);
    spec.plans[0].values[static_cast<size_t>(i)] = ::rushlight::testing::value(tensor);
  }
  spec.plans[0].memories = {0, 64};
  spec.plans[0].operators = {{name, overload}};
  return ::rushlight::testing::build(spec);
}

// A custom loader of the application, which counts its calls. Its destructor sets the count to -1.
class CountingLoader final : public runtime::DataLoader {
 public:
  CountingLoader(std::vector<uint8_t> bytes, int* loads) : bytes_(std::move(bytes)), loads_(loads) {}
  ~CountingLoader() override { *loads_ = -1; }
  Result<runtime::FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return Error::InvalidArgument;
    ++*loads_;
    void* copy = std::aligned_alloc(64, (size + 63) / 64 * 64);
    std::memcpy(copy, bytes_.data() + offset, size);
    return runtime::FreeableBuffer(copy, size, [](void*, void* data, size_t) { std::free(data); });
  }
  Result<size_t> size() const override { return bytes_.size(); }

 private:
  std::vector<uint8_t> bytes_;
  int* loads_;
};

std::unique_ptr<CountingLoader> loader_of(std::vector<uint8_t> bytes, int* loads) {
  return std::make_unique<CountingLoader>(std::move(bytes), loads);
}

std::vector<float> floats(const EValue& value) {
  const float* data = value.toTensor().const_data_ptr<float>();
  return {data, data + value.toTensor().numel()};
}

TEST(ExecuTorchEValue, HasTypes) {
  EXPECT_TRUE(EValue().isNone());
  EXPECT_EQ(EValue(int64_t{3}).toInt(), 3);
  EXPECT_EQ(EValue(2.5).to<double>(), 2.5);
  EXPECT_TRUE(EValue(true).isBool());
  EXPECT_EQ(EValue(aten::Scalar(2.5f)).toDouble(), 2.5);
  EXPECT_EQ(EValue(7).tag, Tag::Int);
  EXPECT_EQ(EValue(7).tryToDouble().error(), Error::InvalidType);
  EXPECT_EQ(EValue(7).toOptional<int64_t>(), 7);
  EXPECT_EQ(EValue().toOptional<Tensor>(), std::nullopt);
  EXPECT_STREQ(runtime::tag_to_string(Tag::ListOptionalTensor), "ListOptionalTensor");
  const auto x = extension::make_tensor_ptr({1.0f, 2.0f});
  EValue value(x);
  EXPECT_EQ(value.toTensor().const_data_ptr(), x->const_data_ptr());
  Tensor& handle = value.toTensor();
  EXPECT_EQ(handle.numel(), 2);
  EValue one(int64_t{1}), two(int64_t{2});
  EValue* items[] = {&one, &two};
  int64_t storage[2];
  runtime::BoxedEvalueList<int64_t> list(items, storage, 2);
  EXPECT_EQ(EValue(&list).toIntList(), runtime::ArrayRef<int64_t>(std::vector<int64_t>{1, 2}));
  two = EValue(0.5);
  EXPECT_EQ(EValue(&list).isIntList(), true);
  EXPECT_EQ(list.tryGet().error(), Error::InvalidType);
  EXPECT_DEATH(static_cast<void>(EValue(1.5).toInt()), "the value is a Double, not a Int");
}

TEST(ExecuTorchEValue, Prints) {
  std::ostringstream stream;
  stream << extension::evalue_edge_items(2) << EValue(3) << " " << EValue(1.0) << " " << EValue(true) << " " << EValue()
         << " " << EValue(extension::make_tensor_ptr({2, 3}, {1.0f, 2.5f, 3.0f, 4.0f, 5.0f, 6.0f}));
  EXPECT_EQ(stream.str(), "3 1. True None tensor(sizes=[2, 3], [1., 2.5, ..., 5., 6.])");
}

TEST(ExecuTorchTensorImpl, HasDefaults) {
  TensorImpl::SizesType sizes[] = {2, 3};
  float data[6] = {};
  TensorImpl impl(ScalarType::Float, 2, sizes, data);
  EXPECT_EQ(impl.strides()[0], 3);
  EXPECT_EQ(impl.dim_order()[1], 1);
  TensorImpl copy = impl;
  sizes[0] = 1;
  EXPECT_NE(copy.strides().data(), impl.strides().data());
  Tensor tensor(&copy);
  EXPECT_EQ(tensor.unsafeGetTensorImpl(), &copy);
  EXPECT_EQ(tensor.scalar_type(), ScalarType::Float);
  EXPECT_EQ(runtime::promoteTypes(ScalarType::Byte, ScalarType::Char), ScalarType::Short);
  EXPECT_EQ(runtime::promoteTypes(ScalarType::Half, ScalarType::BFloat16), ScalarType::Float);
  EXPECT_EQ(runtime::promoteTypes(ScalarType::Long, ScalarType::Half), ScalarType::Half);
  EXPECT_STREQ(runtime::tensor_shape_to_c_string(tensor.sizes()).data(), "(1, 3)");
  EXPECT_STREQ(runtime::toString(ScalarType::BFloat16), "BFloat16");
}

TEST(ExecuTorchMemory, HasTwoKindsOfAllocators) {
  alignas(16) uint8_t pool[64];
  runtime::MemoryAllocator allocator(sizeof(pool), pool);
  EXPECT_EQ(allocator.allocate(1), pool);
  EXPECT_EQ(allocator.allocateInstance<double>(), reinterpret_cast<double*>(pool + 8));
  EXPECT_EQ(allocator.used_size() + allocator.free_size(), sizeof(pool));
  EXPECT_EQ(allocator.allocateList<double>(SIZE_MAX / 4), nullptr);
  EXPECT_EQ(allocator.allocate(1, 3), nullptr);
  EXPECT_EQ(allocator.allocate(65), nullptr);
  allocator.reset();
  EXPECT_EQ(allocator.used_size(), 0u);
  extension::MallocMemoryAllocator heap;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(heap.allocate(100, 256)) % 256, 0u);
  Span<uint8_t> buffers[] = {{pool, size_t{64}}};
  runtime::HierarchicalAllocator planned({buffers, size_t{1}});
  EXPECT_EQ(*planned.get_offset_address(0, 8, 56), pool + 8);
  EXPECT_NE(planned.get_offset_address(0, 8, 57).error(), Error::Ok);
  EXPECT_NE(planned.get_offset_address(1, 0, 1).error(), Error::Ok);
}

TEST(ExecuTorchMemory, ComputesSizesWithAlignment) {
  using extension::utils::get_aligned_size;
  EXPECT_EQ(*get_aligned_size(10, alignof(std::max_align_t)), 10u);
  EXPECT_EQ(*get_aligned_size(10, 64), 73u);
  EXPECT_EQ(*get_aligned_size(SIZE_MAX - 64, 64), SIZE_MAX - 1);
  EXPECT_EQ(get_aligned_size(SIZE_MAX - 63, 64).error(), Error::InvalidArgument);
}

TEST(ExecuTorchMemory, HasNumbersOfC10) {
  EXPECT_EQ(static_cast<float>(c10::Half(1.5f)), 1.5f);
  EXPECT_EQ(static_cast<float>(c10::BFloat16(1.5f)), 1.5f);
}

TEST(ExecuTorchLoaders, AlignWhatTheyLoad) {
  using extension::FileDataLoader;
  const std::string path = ::testing::TempDir() + "executorch_loader.bin";
  std::ofstream(path, std::ios::binary) << "0123456789";
  const runtime::DataLoader::SegmentInfo info(runtime::DataLoader::SegmentInfo::Type::Program);
  for (const size_t alignment : {size_t{1}, size_t{64}, size_t{256}, size_t{4096}}) {
    const Result<FileDataLoader> loader = FileDataLoader::from(path.c_str(), alignment);
    ASSERT_TRUE(loader.ok());
    const Result<runtime::FreeableBuffer> data = loader->load(2, 5, info);
    ASSERT_TRUE(data.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data->data()) % alignment, 0u);
    EXPECT_EQ(std::string(static_cast<const char*>(data->data()), data->size()), "23456");
    EXPECT_EQ(loader->load(2, 9, info).error(), Error::InvalidArgument);
    EXPECT_EQ(loader->load(11, 0, info).error(), Error::InvalidArgument);
    EXPECT_TRUE(loader->load(10, 0, info).ok());
  }
  EXPECT_EQ(FileDataLoader::from(path.c_str(), 96).error(), Error::InvalidArgument);
  EXPECT_EQ(FileDataLoader::from(path.c_str(), 0).error(), Error::InvalidArgument);
  std::remove(path.c_str());
}

void expect_ranges_are_checked(const runtime::DataLoader& loader) {
  const runtime::DataLoader::SegmentInfo info(runtime::DataLoader::SegmentInfo::Type::Program);
  char buffer[10];
  EXPECT_EQ(loader.load_into(4, 6, info, buffer), Error::Ok);
  EXPECT_EQ(loader.load_into(4, 7, info, buffer), Error::InvalidArgument);
  EXPECT_EQ(loader.load(11, 0, info).error(), Error::InvalidArgument);
  EXPECT_EQ(loader.load(1, SIZE_MAX, info).error(), Error::InvalidArgument);
}

TEST(ExecuTorchLoaders, RefuseBytesOutsideOfTheFile) {
  const std::string path = ::testing::TempDir() + "executorch_ranges.bin";
  std::ofstream(path, std::ios::binary) << "0123456789";
  expect_ranges_are_checked(*extension::FileDataLoader::from(path.c_str()));
  expect_ranges_are_checked(*extension::MmapDataLoader::from(path.c_str()));
  expect_ranges_are_checked(extension::BufferDataLoader("0123456789", 10));
  std::remove(path.c_str());
}

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

TEST(ExecuTorchFlatTensor, SavesTensors) {
  const std::string path = ::testing::TempDir() + "executorch_saved.ptd";
  const auto image = extension::make_tensor_ptr({1, 2, 1, 2}, std::vector<float>{1, 2, 3, 4}, {0, 2, 3, 1});
  const auto number = extension::make_tensor_ptr({}, std::vector<int64_t>{7});
  const auto empty = extension::make_tensor_ptr({0, 3}, std::vector<float>{});
  const std::map<std::string, aten::Tensor> tensors = {{"c.weight", *image}, {"n", *number}, {"none", *empty}};
  for (const size_t alignment : {1, 16, 4096}) {
    ASSERT_EQ(extension::flat_tensor::save_ptd(path, tensors, alignment), Error::Ok);
    auto loader = extension::FileDataLoader::from(path.c_str());
    ASSERT_TRUE(loader.ok());
    const auto file = extension::FlatTensorDataMap::load(&*loader);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(*file->get_num_keys(), 3u);
    for (const auto& [key, tensor] : tensors) {
      const auto layout = file->get_tensor_layout(key);
      ASSERT_TRUE(layout.ok()) << key;
      EXPECT_EQ(layout->scalar_type(), tensor.scalar_type());
      EXPECT_TRUE(std::equal(layout->sizes().begin(), layout->sizes().end(), tensor.sizes().begin()));
      EXPECT_TRUE(std::equal(layout->dim_order().begin(), layout->dim_order().end(), tensor.dim_order().begin()));
      const auto data = file->get_data(key);
      ASSERT_TRUE(data.ok()) << key;
      ASSERT_EQ(data->size(), tensor.nbytes());
      EXPECT_EQ(std::memcmp(data->data(), tensor.const_data_ptr(), tensor.nbytes()), 0) << key;
    }
  }
  EXPECT_EQ(extension::flat_tensor::save_ptd(path, tensors, 12), Error::InvalidArgument);
  EXPECT_EQ(extension::flat_tensor::save_ptd(path + "/no/folder", tensors, 16), Error::AccessFailed);
  std::ostringstream closed;
  closed.setstate(std::ios::badbit);
  EXPECT_EQ(extension::flat_tensor::save_ptd(closed, tensors, 16), Error::AccessFailed);
  std::remove(path.c_str());
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

TEST(ExecuTorchProgram, RefusesOtherBytes) {
  int loads = 0;
  EXPECT_EQ(Program::load(loader_of({1, 2, 3}, &loads).get()).error(), Error::InvalidArgument) << "too short";
  EXPECT_EQ(Program::load(loader_of(std::vector<uint8_t>(100), &loads).get()).error(), Error::InvalidProgram);
}

TEST(ExecuTorchMethod, RunsStepByStep) {
  int loads = 0;
  auto loader = loader_of(adding("aten::add", "out"), &loads);
  Result<Program> program = Program::load(loader.get());
  ASSERT_TRUE(program.ok());
  EXPECT_STREQ(*program->get_method_name(0), "forward");
  EXPECT_EQ(program->get_named_data_map().error(), Error::NotFound);
  extension::MallocMemoryAllocator allocator;
  runtime::MemoryManager memory(&allocator);
  Result<Method> method = program->load_method("forward", &memory);
  ASSERT_TRUE(method.ok());
  const auto x = extension::make_tensor_ptr({1.0f, 2.0f});
  const EValue inputs[] = {x, x};
  ASSERT_EQ(method->set_inputs({inputs, size_t{2}}), Error::Ok);
  EXPECT_EQ(method->reset_execution(), Error::InvalidState);
  EXPECT_EQ(method->step(), Error::Ok);
  EXPECT_TRUE(method->in_progress());
  EXPECT_EQ(method->step(), Error::EndOfMethod);
  EXPECT_EQ(method->reset_execution(), Error::Ok);
  EValue outputs[3];
  ASSERT_EQ(method->get_outputs(outputs, 3), Error::Ok);
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{2, 4}));
  EXPECT_TRUE(outputs[2].isNone());
  EXPECT_EQ(method->get_outputs(outputs, 0), Error::InvalidArgument);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(method->step(), Error::Ok) << "after a full run, the first step runs the first instruction";
  EXPECT_EQ(method->step(), Error::EndOfMethod);
}

// ---- Kernels ----

int calls[3] = {};

Tensor& plain(const Tensor& a, const Tensor&, aten::Scalar, Tensor& out) {
  ++calls[0];
  std::memcpy(out.mutable_data_ptr(), a.const_data_ptr(), out.nbytes());
  return out;
}
Tensor& for_doubles(KernelRuntimeContext&, const Tensor& a, const Tensor& b, const aten::Scalar&, Tensor& out) {
  ++calls[1];
  for (int i = 0; i < 2; ++i) {
    out.mutable_data_ptr<double>()[i] = a.const_data_ptr<double>()[i] * b.const_data_ptr<double>()[i];
  }
  return out;
}
void boxed(KernelRuntimeContext& context, Span<EValue*> stack) {
  ++calls[2];
  if (stack.size() != 5) return context.fail(Error::InvalidArgument);
  stack[3]->toTensor().mutable_data_ptr<float>()[0] = stack[2]->to<aten::Scalar>().to<float>();
  Result<void*> scratch = context.allocate_temp(32);
  if (!scratch.ok()) context.fail(scratch.error());
}

EXECUTORCH_LIBRARY(test_ops, "keyed.out", plain);
const Error keyed_registered = runtime::register_kernel(extension::make_boxed_kernel(
    "test_ops::keyed.out", EXECUTORCH_FN(for_doubles), runtime::KernelKey("v1/7;0|7;0|7;0")));
const Error boxed_registered = runtime::register_kernel(Kernel("test_ops::boxed.out", boxed));

TEST(ExecuTorchKernels, AreChosenByTheirKeys) {
  ASSERT_EQ(keyed_registered, Error::Ok);
  int loads = 0;
  std::memset(calls, 0, sizeof(calls));
  Module on_floats(loader_of(adding("test_ops::keyed", "out"), &loads));
  const auto x = extension::make_tensor_ptr({3.0f, 4.0f});
  auto outputs = on_floats.forward({x, x});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(floats(outputs->at(0)), (std::vector<float>{3, 4}));
  Module on_doubles(loader_of(adding("test_ops::keyed", "out", ScalarType::Double), &loads));
  const auto y = extension::make_tensor_ptr({3.0, 4.0});
  auto doubles = on_doubles.forward({y, y});
  ASSERT_TRUE(doubles.ok());
  EXPECT_EQ(doubles->at(0).toTensor().const_data_ptr<double>()[1], 16.0);
  EXPECT_EQ(calls[0], 1);
  EXPECT_EQ(calls[1], 1);
}

TEST(ExecuTorchKernels, MayTakeAStackOfValues) {
  ASSERT_EQ(boxed_registered, Error::Ok);
  int loads = 0;
  Module module(loader_of(adding("test_ops::boxed", "out"), &loads));
  const auto x = extension::make_tensor_ptr({3.0f, 4.0f});
  auto outputs = module.forward({x, x});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(floats(outputs->at(0))[0], 1.0f) << "alpha";
}

TEST(ExecuTorchKernels, AreRegisteredOnce) {
  EXPECT_EQ(runtime::register_kernel(Kernel("test_ops::boxed.out", boxed)), Error::RegistrationAlreadyRegistered);
  EXPECT_TRUE(runtime::registry_has_op_function("test_ops::boxed.out"));
  EXPECT_TRUE(runtime::registry_has_op_function("aten::add.out")) << "the runtime's own";
  EXPECT_FALSE(runtime::registry_has_op_function("test_ops::absent.out"));
  EXPECT_EQ(runtime::get_op_function_from_registry("test_ops::absent.out").error(), Error::OperatorMissing);
  aten::DimOrderType order[] = {0};
  const runtime::TensorMeta meta(ScalarType::Double, {order, size_t{1}});
  const runtime::TensorMeta metas[] = {meta, meta, meta};
  EXPECT_NE(*runtime::get_op_function_from_registry("test_ops::keyed.out", metas),
            *runtime::get_op_function_from_registry("test_ops::keyed.out"));
  int loads = 0;
  Module module(loader_of(adding("test_ops::absent", "out"), &loads));
  EXPECT_EQ(module.load_forward(), Error::OperatorMissing);
}

TEST(ExecuTorchKernels, AreCalledDirectlyInTests) {
  runtime::testing::TensorFactory<ScalarType::Double> tensors;
  const Tensor a = tensors.make({2}, {3, 4});
  Tensor out = tensors.zeros({2});
  KernelRuntimeContext context;
  for_doubles(context, a, tensors.full({2}, 2), 1, out);
  EXPECT_TENSOR_EQ(out, tensors.make({2}, {6, 8}));
  EXPECT_TENSOR_CLOSE_WITH_TOL(out, tensors.make({2}, {6.01, 8}), 0.01, 0);
  EXPECT_TENSOR_NE(out, tensors.make({2}, {6.01, 8}));
  EXPECT_EQ(context.failure_state(), Error::Ok);
  EXPECT_EQ(context.allocate_temp(8).error(), Error::MemoryAllocationFailed) << "there is no allocator";
}

// ---- Tracers ----

// Records the names of events.
class NamingTracer final : public runtime::EventTracer {
 public:
  std::vector<std::string> names;
  int open = 0;
  void create_event_block(const char* name) override { names.push_back(std::string("block ") + name); }
  runtime::EventTracerEntry start_profiling(const char* name, runtime::ChainID, runtime::DebugHandle) override {
    names.emplace_back(name);
    ++open;
    return {};
  }
  void end_profiling(runtime::EventTracerEntry) override { --open; }
  runtime::EventTracerEntry start_profiling_delegate(const char*, runtime::DelegateDebugIntId) override { return {}; }
  void end_profiling_delegate(runtime::EventTracerEntry, const void*, size_t) override {}
  void log_profiling_delegate(const char*, runtime::DelegateDebugIntId, et_timestamp_t, et_timestamp_t, const void*,
                              size_t) override {}
  void track_allocation(runtime::AllocatorID, size_t) override {}
  runtime::AllocatorID track_allocator(const char*) override { return 1; }
  Result<bool> log_evalue(const EValue& value, runtime::LoggedEValueType) override {
    names.push_back(std::string("value ") + runtime::tag_to_string(value.tag));
    return true;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const Tensor&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId,
                                                const runtime::ArrayRef<Tensor>) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const int&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const bool&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const double&) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(runtime::EventTracerFilterBase*) override {}
};

TEST(ExecuTorchTracer, ReceivesEvents) {
  if (!::rushlight::kHasTracing) GTEST_SKIP() << "a build without event tracing";
  int loads = 0;
  auto tracer = std::make_unique<NamingTracer>();
  NamingTracer* events = tracer.get();
  events->set_event_tracer_debug_level(runtime::EventTracerDebugLogLevel::kProgramOutputs);
  Module module(loader_of(adding("aten::add", "out"), &loads), nullptr, nullptr, std::move(tracer));
  const auto x = extension::make_tensor_ptr({3.0f, 4.0f});
  ASSERT_TRUE(module.forward({x, x}).ok());
  const std::set<std::string> names(events->names.begin(), events->names.end());
  EXPECT_EQ(names.count("value Tensor"), 1u);
  EXPECT_TRUE(names.count("block Execute") == 1 || names.size() > 3) << names.size();
  EXPECT_EQ(events->open, 0);
}

// Stores the bytes of each tensor, and counts them.
class CountingSink final : public etdump::DataSinkBase {
 public:
  std::vector<std::vector<uint8_t>> written;
  Result<size_t> write(const void* data, size_t size) override {
    if (size > 8) return Error::OutOfResources;
    const auto* first = static_cast<const uint8_t*>(data);
    written.emplace_back(first, first + size);
    return size_t{1000} * written.size();
  }
  size_t get_used_bytes() const override { return written.size(); }
};

TEST(ExecuTorchTracer, StoresTensorsInADataSink) {
  if (!::rushlight::kHasTracing) GTEST_SKIP() << "a build without event tracing";
  etdump::ETDumpGen tracer;
  EXPECT_EQ(tracer.get_data_sink(), nullptr);
  tracer.set_event_tracer_debug_level(runtime::EventTracerDebugLogLevel::kIntermediateOutputs);
  CountingSink sink;
  tracer.set_data_sink(&sink);
  EXPECT_EQ(tracer.get_data_sink(), &sink);
  int loads = 0;
  Module module(loader_of(adding("aten::add", "out"), &loads));
  ASSERT_EQ(module.load_method("forward", nullptr, &tracer), Error::Ok);
  const auto x = extension::make_tensor_ptr({3.0f, 4.0f});
  ASSERT_TRUE(module.forward({x, x}).ok());
  ASSERT_EQ(sink.written.size(), 2u) << "the result of the operator and the output of the method";
  float sums[2];
  std::memcpy(sums, sink.written[0].data(), sizeof(sums));
  EXPECT_EQ(sums[1], 8.0f);
  const auto matrix = extension::make_tensor_ptr({2, 3}, std::vector<float>(6));
  EXPECT_TRUE(tracer.log_evalue(EValue(matrix), runtime::LoggedEValueType::kIntermediateOutput).ok());
  const etdump::ETDumpResult dump = tracer.get_etdump_data();
  ASSERT_NE(dump.buf, nullptr);
  const std::string_view bytes(static_cast<const char*>(dump.buf), dump.size);
  const int64_t offset = 1000;
  EXPECT_NE(bytes.find(std::string_view(reinterpret_cast<const char*>(&offset), sizeof(offset))), bytes.npos);
  std::free(dump.buf);
  alignas(64) uint8_t buffer[64];
  ASSERT_TRUE(tracer.set_debug_buffer({buffer, sizeof(buffer)}).ok());
  const std::vector<uint8_t> order = {1, 0};
  const auto columns = extension::make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}, order);
  EXPECT_TRUE(tracer.log_evalue(EValue(columns), runtime::LoggedEValueType::kIntermediateOutput).ok());
  EXPECT_EQ(tracer.get_data_sink()->get_used_bytes(), 16u);
  const float rows[] = {1, 3, 2, 4};
  EXPECT_EQ(std::memcmp(buffer, rows, sizeof(rows)), 0) << "the elements are in row-major order";
  tracer.reset();
  EXPECT_EQ(tracer.get_data_sink(), nullptr);
  EXPECT_TRUE(tracer.log_evalue(EValue(columns), runtime::LoggedEValueType::kIntermediateOutput).ok());
}

TEST(ExecuTorchTracer, HasDataSinksOfBuffersAndFiles) {
  alignas(64) uint8_t pool[204];
  std::memset(pool, 0xee, sizeof(pool));
  auto buffer = etdump::BufferDataSink::create(pool + 4, 200, 16);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(*buffer->get_storage_size(), 200u);
  uint8_t data[200] = {7, 7};
  EXPECT_EQ(*buffer->write(data, 10), 12u);
  EXPECT_EQ(buffer->get_used_bytes(), 22u);
  EXPECT_EQ(*buffer->write(data, 0), 22u);
  EXPECT_EQ(*buffer->write(data, 10), 28u);
  EXPECT_EQ(buffer->write(data, 190).error(), Error::OutOfResources);
  EXPECT_EQ(*buffer->write(data, 156), 44u) << "the rest";
  EXPECT_EQ(buffer->write(data, 1).error(), Error::OutOfResources);
  EXPECT_EQ(pool[4], 0) << "padding";
  EXPECT_EQ(pool[16], 7);
  EXPECT_EQ(etdump::BufferDataSink::create({pool, size_t{8}}, 24).error(), Error::InvalidArgument);
  const std::string path = ::testing::TempDir() + "executorch_sink.bin";
  EXPECT_EQ(etdump::FileDataSink::create((path + "/absent").c_str()).error(), Error::AccessFailed);
  auto file = etdump::FileDataSink::create(path.c_str());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file->write("hello", 5), 0u);
  etdump::FileDataSink moved = std::move(*file);
  EXPECT_EQ(*moved.write("abc", 3), 5u);
  EXPECT_EQ(moved.get_used_bytes(), 8u);
  EXPECT_EQ(file->write("x", 1).error(), Error::AccessFailed) << "the file was moved";
  moved.close();
  EXPECT_EQ(moved.write("x", 1).error(), Error::AccessFailed);
  std::ifstream read(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(read), {}), "helloabc");
  std::remove(path.c_str());
}

// ---- Platform and threads ----

std::string logged;

TEST(ExecuTorchPlatform, LogsThroughTheRegisteredFunction) {
  const runtime::PalImpl before = *runtime::get_pal_impl();
  runtime::register_pal(runtime::PalImpl::create(
      [](et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t, const char* message,
         size_t length) { logged = std::string(1, static_cast<char>(level)) + " " + std::string(message, length); },
      __FILE__));
  ET_LOG(Info, "%d methods", 3);
  EXPECT_EQ(logged, "I 3 methods");
  ET_LOG(Debug, "below the least level");
  EXPECT_EQ(logged, "I 3 methods");
  int loads = 0;
  Module module(loader_of(adding("aten::add", "out"), &loads));
  ASSERT_EQ(module.load_forward(), Error::Ok);
  EXPECT_EQ(logged, "I 3 methods") << "the runtime's own debug messages are below the least level, too";
  EXPECT_FALSE(Program::load(loader_of({1, 2, 3}, &loads).get()).ok());
  EXPECT_EQ(logged.substr(0, 17), "E InvalidProgram:") << logged;
  runtime::register_pal(before);
}

TEST(ExecuTorchThreads, CoverARange) {
  std::vector<int> seen(1000);
  EXPECT_TRUE(extension::parallel_for(0, 1000, 10, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) ++seen[static_cast<size_t>(i)];
  }));
  EXPECT_EQ(seen, std::vector<int>(1000, 1));
  EXPECT_FALSE(extension::parallel_for(3, 2, 1, [](int64_t, int64_t) {}));
  const extension::threadpool::NoThreadPoolGuard guard;
  std::set<int64_t> threads;
  EXPECT_TRUE(
      extension::parallel_for(0, 10, 1, [&](int64_t, int64_t) { threads.insert(extension::get_thread_num()); }));
  EXPECT_FALSE(threads.empty());
}

TEST(ExecuTorchOptions, AreFoundByTheirKeys) {
  runtime::BackendOptions<2> options;
  EXPECT_EQ(options.set_option("threads", 4), Error::Ok);
  EXPECT_EQ(options.set_option("mode", "fast"), Error::Ok);
  EXPECT_EQ(options.set_option("more", true), Error::InvalidArgument);
  int threads = 0;
  const char* mode = nullptr;
  EXPECT_EQ(options.get_option("threads", threads), Error::Ok);
  EXPECT_EQ(options.get_option("mode", mode), Error::Ok);
  EXPECT_EQ(threads, 4);
  EXPECT_STREQ(mode, "fast");
  EXPECT_EQ(options.get_option("mode", threads), Error::InvalidArgument);
  runtime::LoadBackendOptionsMap map;
  EXPECT_EQ(map.set_options("Some", options.view()), Error::Ok);
  EXPECT_EQ(map.get_options("Some").size(), 2u);
  EXPECT_FALSE(map.has_options("Other"));
  EXPECT_EQ(runtime::set_option("Absent", options.view()), Error::NotFound);
}

}  // namespace
}  // namespace executorch
