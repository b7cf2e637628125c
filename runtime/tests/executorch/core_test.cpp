#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <vector>

#include "executorch/extension/evalue_util/print_evalue.h"
#include "executorch/extension/memory_allocator/malloc_memory_allocator.h"
#include "executorch/extension/memory_allocator/memory_allocator_utils.h"
#include "executorch/extension/tensor/tensor.h"
#include "executorch/runtime/backend/backend_options_map.h"
#include "executorch/runtime/backend/interface.h"
#include "executorch/runtime/core/exec_aten/testing_util/tensor_util.h"
#include "executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h"
#include "executorch/runtime/core/hierarchical_allocator.h"
#include "executorch/runtime/core/portable_type/c10/c10/util/BFloat16.h"
#include "executorch/runtime/core/portable_type/c10/c10/util/Half.h"

namespace executorch {
namespace {

using aten::ScalarType;
using aten::Tensor;
using aten::TensorImpl;
using runtime::Error;
using runtime::EValue;
using runtime::Span;
using runtime::Tag;

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
