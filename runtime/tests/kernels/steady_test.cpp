// Kernels whose result overwrites their own indices: the result is the same as with indices in other memory.
#include "kernels/shared/steady.h"

#include <gtest/gtest.h>

#include <deque>

#include "rushlight/module/defaults.h"
#include "rushlight/module/growing_allocator.h"
#include "tests/support/test_tensor.h"

namespace rushlight {
namespace {

using testing::TestTensor;

constexpr int64_t kFar = int64_t{1} << 40;

// A call whose argument `index` will share the memory of its last argument.
struct Call {
  const char* kernel;
  size_t index;
  std::deque<TestTensor> tensors;
  std::vector<EValue> values;
};

const EValue kTensor;  // placeholder for the next tensor of a call

Call make(const char* kernel, size_t index, std::vector<EValue> values, std::deque<TestTensor> tensors) {
  Call call{kernel, index, std::move(tensors), std::move(values)};
  size_t next = 0;
  for (EValue& value : call.values) {
    if (value.is_none()) value = EValue(call.tensors[next++].impl());
  }
  return call;
}

TestTensor longs(std::vector<SizesType> sizes, const std::vector<int64_t>& values) {
  return {std::move(sizes), values};
}

TestTensor out_like(ScalarType dtype, std::vector<SizesType> sizes) { return {dtype, std::move(sizes), 64}; }

// Four numbers that are not valid indices, and four indices of a vector of four.
TestTensor far_numbers() { return longs({4}, {kFar, -kFar, kFar + 1, kFar}); }
TestTensor places() { return longs({4}, {3, 0, 2, 1}); }

std::deque<TestTensor> tensors() { return {}; }

template <typename... Rest>
std::deque<TestTensor> tensors(TestTensor first, Rest... rest) {
  std::deque<TestTensor> all = tensors(std::move(rest)...);
  all.push_front(std::move(first));
  return all;
}

std::deque<Call> calls() {
  const EValue dim(int64_t{0}), no(false), yes(true), number(kFar), one(int64_t{1});
  static const std::string_view sum = "sum";
  const auto out = [] { return out_like(ScalarType::Long, {4}); };
  std::deque<Call> all;
  const auto add = [&](const char* kernel, size_t index, std::vector<EValue> values, std::deque<TestTensor> given) {
    all.push_back(make(kernel, index, std::move(values), std::move(given)));
  };
  const EValue t = kTensor;
  add("aten::gather.out", 2, {t, dim, t, no, t}, tensors(far_numbers(), places(), out()));
  add("aten::index_select.out", 2, {t, dim, t, t}, tensors(far_numbers(), places(), out()));
  add("aten::take.out", 1, {t, t, t}, tensors(far_numbers(), places(), out()));
  add("aten::scatter.src_out", 2, {t, dim, t, t, t}, tensors(far_numbers(), places(), far_numbers(), out()));
  add("aten::scatter.value_out", 2, {t, dim, t, number, t}, tensors(far_numbers(), places(), out()));
  add("aten::scatter_add.out", 2, {t, dim, t, t, t}, tensors(far_numbers(), places(), far_numbers(), out()));
  add("aten::scatter_reduce.two_out", 2, {t, dim, t, t, EValue(&sum), yes, t},
      tensors(far_numbers(), places(), far_numbers(), out()));
  add("aten::index_add.out", 2, {t, dim, t, t, one, t}, tensors(far_numbers(), places(), far_numbers(), out()));
  add("aten::index_copy.out", 2, {t, dim, t, t, t}, tensors(far_numbers(), places(), far_numbers(), out()));
  add("aten::index_fill.int_Scalar_out", 2, {t, dim, t, number, t}, tensors(far_numbers(), places(), out()));
  add("aten::embedding.out", 1, {t, t, dim, no, no, t},
      tensors(longs({4, 1}, {kFar, -kFar, kFar, kFar}), places(), out_like(ScalarType::Long, {4, 1})));
  add("aten::embedding_dense_backward.out", 1, {t, t, EValue(int64_t{4}), EValue(int64_t{-1}), no, t},
      tensors(TestTensor({4, 1}, std::vector<double>{1e300, -1e300, 1e300, 2}), places(),
              out_like(ScalarType::Double, {4, 1})));
  add("aten::repeat_interleave.Tensor_out", 0, {t, EValue(int64_t{10}), t},
      tensors(longs({4}, {1, 2, 3, 4}), out_like(ScalarType::Long, {10})));
  add("aten::nonzero.out", 0, {t, t}, tensors(longs({4}, {1, 0, 0, 7}), out_like(ScalarType::Long, {2, 1})));
  add("aten::bincount.out", 0, {t, no, dim, t}, tensors(longs({4}, {3, 1, 3, 3}), out()));
  all.back().values[1] = EValue();
  return all;
}

// Returns the elements that the kernel wrote, or nothing if it failed.
std::vector<uint8_t> run(Call& call, size_t threads_memory) {
  std::vector<EValue*> arguments;
  for (EValue& value : call.values) arguments.push_back(&value);
  const std::vector<KernelTable> tables = available_kernels();
  const Kernel* row = find_kernel({tables.data(), tables.size()}, call.kernel);
  EXPECT_NE(row, nullptr) << call.kernel;
  if (!row) return {};
  EXPECT_EQ(row->boxed.arity, arguments.size()) << call.kernel;
  EXPECT_FALSE(find_dtype_mismatch(*row, arguments.data()).found) << call.kernel;
  GrowingAllocator scratch;
  KernelRuntimeContext context(threads_memory ? &scratch : nullptr, nullptr);
  row->boxed.call(context, arguments.data());
  if (context.failed()) return {};
  return call.tensors.back().bytes();
}

TEST(Steady, IndicesInTheMemoryOfTheResult) {
  std::deque<Call> apart = calls(), together = calls(), without = calls();
  for (size_t i = 0; i < apart.size(); ++i) {
    const std::vector<uint8_t> wanted = run(apart[i], 1);
    ASSERT_FALSE(wanted.empty()) << apart[i].kernel << ": " << last_error_message();
    for (std::deque<Call>* calls : {&together, &without}) {
      Call& call = (*calls)[i];
      for (TestTensor& tensor : call.tensors) {
        const EValue& index = call.values[call.index];
        if (tensor.impl() == index.to_tensor().impl()) tensor.move_into(call.tensors.back());
      }
    }
    EXPECT_EQ(run(together[i], 1), wanted) << together[i].kernel;
    EXPECT_TRUE(run(without[i], 0).empty()) << without[i].kernel << " ran without memory for its indices";
  }
}

TEST(Steady, IndicesInAListInTheMemoryOfTheResult) {
  std::vector<uint8_t> wanted;
  for (const bool is_together : {false, true}) {
    TestTensor in = far_numbers(), index = places(), values = far_numbers();
    TestTensor out = out_like(ScalarType::Long, {4});
    if (is_together) index.move_into(out);
    EValue item(index.impl()), from(in.impl()), to(out.impl()), source(values.impl()), no(false);
    EValue* items[] = {&item};
    std::optional<Tensor> storage[1];
    const BoxedList<std::optional<Tensor>> list{items, storage, 1};
    EValue indices(&list);
    EValue* arguments[] = {&from, &indices, &source, &no, &to};
    const std::vector<KernelTable> tables = available_kernels();
    const Kernel* row = find_kernel({tables.data(), tables.size()}, "aten::index_put.out");
    ASSERT_NE(row, nullptr);
    GrowingAllocator scratch;
    KernelRuntimeContext context(&scratch, nullptr);
    row->boxed.call(context, arguments);
    ASSERT_FALSE(context.failed()) << last_error_message();
    if (is_together) {
      EXPECT_EQ(out.bytes(), wanted);
    } else {
      wanted = out.bytes();
    }
  }
}

// The index and the result are the same value. The kernel changes its shape.
TEST(Steady, IndicesThatAreTheResult) {
  TestTensor table = longs({3, 1}, {kFar, kFar, kFar});
  TestTensor index(ScalarType::Long, {2, 1}, 64);
  EValue weight(table.impl()), both(index.impl()), dim(int64_t{0}), no(false);
  EValue* arguments[] = {&weight, &both, &dim, &no, &no, &both};
  const std::vector<KernelTable> tables = available_kernels();
  const Kernel* row = find_kernel({tables.data(), tables.size()}, "aten::embedding.out");
  ASSERT_NE(row, nullptr);
  GrowingAllocator scratch;
  KernelRuntimeContext context(&scratch, nullptr);
  row->boxed.call(context, arguments);
  EXPECT_TRUE(context.failed());  // the result has another rank
}

}  // namespace
}  // namespace rushlight
