// Calls each kernel with each dtype in each tensor argument. A dtype that the row does not declare is found before the
// call. With declared dtypes the kernel runs or fails, but never calls a missing function.
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "rushlight/core/kernel.h"
#include "rushlight/module/defaults.h"
#include "rushlight/module/growing_allocator.h"
#include "tests/support/test_tensor.h"

namespace rushlight {
namespace {

using testing::TestTensor;

// The properties of all arguments in one call.
struct Profile {
  int rank;        // of tensors that are read
  int out_rank;    // of tensors that are written
  int list;        // items of lists of numbers
  int64_t number;  // values of integers, also in lists
  const char* text;
};

// The arguments of one call. Each dim of a tensor has two elements.
class Arguments {
 public:
  Arguments(const BoxedKernel& kernel, const Profile& profile, const std::vector<ScalarType>& dtypes) {
    text_ = profile.text;
    numbers_.assign(static_cast<size_t>(profile.list), profile.number);
    doubles_.assign(static_cast<size_t>(profile.list), 1.0);
    double_span_ = {doubles_.data(), doubles_.size()};
    for (bool& flag : flags_) flag = true;
    bool_span_ = {flags_, 3};
    for (uint16_t i = 0; i < kernel.arity; ++i) pointers_.push_back(make(kernel.kinds[i], profile, dtypes[i]));
  }
  EValue* const* data() const { return pointers_.data(); }

 private:
  EValue* keep(const EValue& value) { return &values_.emplace_back(value); }

  EValue* tensor(ScalarType dtype, int rank, bool is_out) {
    TestTensor& made = tensors_.emplace_back(dtype, std::vector<SizesType>(static_cast<size_t>(rank), 2),
                                             is_out ? size_t{4096} : size_t{0});
    if (!is_out) std::memset(made.impl()->data, dtype == ScalarType::Bool ? 1 : 0, made.impl()->capacity);
    return keep(EValue(made.impl()));
  }

  EValue* make(ArgKind kind, const Profile& profile, ScalarType dtype) {
    switch (kind) {
      case ArgKind::Tensor:
      case ArgKind::OptionalTensor:
        return tensor(dtype, profile.rank, false);
      case ArgKind::OutTensor:
        return tensor(dtype, profile.out_rank, true);
      case ArgKind::TensorList:
      case ArgKind::OutTensorList: {
        const bool is_out = kind == ArgKind::OutTensorList;
        auto& items = items_.emplace_back();
        for (int i = 0; i < 2; ++i) items.push_back(tensor(dtype, is_out ? profile.out_rank : profile.rank, is_out));
        auto& buffer = buffers_.emplace_back(2, Tensor(nullptr));
        return keep(EValue(&lists_.emplace_back(BoxedList<Tensor>{items.data(), buffer.data(), 2})));
      }
      case ArgKind::OptionalTensorList: {
        auto& items = items_.emplace_back();
        items.push_back(tensor(dtype, profile.rank, false));
        auto& buffer = optional_buffers_.emplace_back(1);
        return keep(
            EValue(&optional_lists_.emplace_back(BoxedList<std::optional<Tensor>>{items.data(), buffer.data(), 1})));
      }
      case ArgKind::IntList:
      case ArgKind::OptionalIntList: {
        auto& items = items_.emplace_back();
        for (const int64_t number : numbers_) items.push_back(keep(EValue(number)));
        auto& buffer = integers_.emplace_back(numbers_.size() + 1);
        return keep(EValue(&integer_lists_.emplace_back(
            BoxedList<int64_t>{items.data(), buffer.data(), static_cast<uint32_t>(numbers_.size())})));
      }
      case ArgKind::DoubleList:
      case ArgKind::OptionalDoubleList:
        return keep(EValue(&double_span_));
      case ArgKind::BoolList:
        return keep(EValue(&bool_span_));
      case ArgKind::Scalar:
      case ArgKind::Int:
      case ArgKind::OptionalInt:
      case ArgKind::OptionalScalar:
        return keep(EValue(profile.number));
      case ArgKind::Double:
        return keep(EValue(1.0));
      case ArgKind::Bool:
        return keep(EValue(false));
      case ArgKind::String:
        return keep(EValue(&text_));
      default:
        return keep(EValue());
    }
  }

  std::deque<EValue> values_;
  std::deque<TestTensor> tensors_;
  std::deque<std::vector<EValue*>> items_;
  std::deque<std::vector<Tensor>> buffers_;
  std::deque<std::vector<std::optional<Tensor>>> optional_buffers_;
  std::deque<std::vector<int64_t>> integers_;
  std::deque<BoxedList<Tensor>> lists_;
  std::deque<BoxedList<std::optional<Tensor>>> optional_lists_;
  std::deque<BoxedList<int64_t>> integer_lists_;
  std::vector<int64_t> numbers_;
  std::vector<double> doubles_;
  Span<const double> double_span_;
  bool flags_[3];
  Span<const bool> bool_span_;
  std::string_view text_;
  std::vector<EValue*> pointers_;
};

enum class Outcome { Refused, Failed, Ran };

Outcome call(const Kernel& row, const Profile& profile, const std::vector<ScalarType>& dtypes) {
  Arguments arguments(row.boxed, profile, dtypes);
  if (find_dtype_mismatch(row, arguments.data()).found) return Outcome::Refused;
  GrowingAllocator scratch;
  KernelRuntimeContext context(&scratch, nullptr);
  row.boxed.call(context, arguments.data());
  return context.failed() ? Outcome::Failed : Outcome::Ran;
}

bool takes_tensors(const Kernel& row) {
  bool has_values = false, has_tensors = false;
  for (uint16_t i = 0; i < row.boxed.arity; ++i) {
    has_values = has_values || row.boxed.kinds[i] == ArgKind::Value;
    has_tensors = has_tensors || is_tensor_kind(row.boxed.kinds[i]);
  }
  return has_tensors && !has_values;
}

// Returns for each argument the dtype `preferred` if it is declared, else the first declared dtype.
std::vector<ScalarType> declared_types(const Kernel& row, ScalarType preferred) {
  std::vector<ScalarType> dtypes;
  for (uint16_t i = 0; i < row.boxed.arity; ++i) {
    const DtypeSet set = row.dtypes_of(i);
    int type = static_cast<int>(preferred);
    if (!set.contains(preferred)) {
      for (type = 0; type < kScalarTypeCount - 1 && !set.contains(static_cast<ScalarType>(type)); ++type) {
      }
    }
    dtypes.push_back(static_cast<ScalarType>(type));
  }
  return dtypes;
}

bool has_kind(const Kernel& row, std::initializer_list<ArgKind> kinds) {
  for (uint16_t i = 0; i < row.boxed.arity; ++i) {
    for (const ArgKind kind : kinds) {
      if (row.boxed.kinds[i] == kind) return true;
    }
  }
  return false;
}

// Returns a profile with which the kernel runs; if there is none, returns another one and sets `runs` to false.
Profile find_profile(const Kernel& row, const std::vector<ScalarType>& dtypes, bool* runs) {
  const bool has_lists = has_kind(row, {ArgKind::IntList, ArgKind::OptionalIntList, ArgKind::DoubleList});
  const bool has_text = has_kind(row, {ArgKind::String});
  for (int rank = 0; rank <= 5; ++rank) {
    for (const int out_rank : {rank, rank - 1, rank + 1, 0, 1, 2}) {
      if (out_rank < 0) continue;
      for (const int list : {1, 2, 3, 0, 4, 6}) {
        if (!has_lists && list != 1) break;
        for (const int64_t number : {1, 0, 2}) {
          for (const char* text : {"none", "sum", "add", "left"}) {
            if (!has_text && std::string_view(text) != "none") break;
            const Profile profile{rank, out_rank, list, number, text};
            if (call(row, profile, dtypes) != Outcome::Ran) continue;
            *runs = true;
            return profile;
          }
        }
      }
    }
  }
  *runs = false;
  return {2, 2, 2, 1, "none"};
}

TEST(Rows, TakeTheTypesThatTheyDeclareAndNoOthers) {
  int rows = 0, running = 0;
  for (const KernelTable& table : available_kernels()) {
    for (const Kernel& row : table) {
      if (!takes_tensors(row)) continue;
      ++rows;
      bool has_run = false;
      for (const ScalarType preferred : {ScalarType::Float, ScalarType::Long, ScalarType::ComplexFloat}) {
        const std::vector<ScalarType> dtypes = declared_types(row, preferred);
        bool runs = false;
        const Profile profile = find_profile(row, dtypes, &runs);
        has_run = has_run || runs;
        for (uint16_t i = 0; i < row.boxed.arity; ++i) {
          if (!is_tensor_kind(row.boxed.kinds[i])) continue;
          EXPECT_NE(row.dtypes_of(i).bits(), 0u) << row.name << " declares no types of argument " << i;
          for (int type = 0; type < kScalarTypeCount; ++type) {
            std::vector<ScalarType> changed = dtypes;
            changed[i] = static_cast<ScalarType>(type);
            const bool is_refused = call(row, profile, changed) == Outcome::Refused;
            EXPECT_EQ(is_refused, !row.dtypes_of(i).contains(changed[i]))
                << row.name << ", argument " << i << " of " << dtype_name(changed[i]);
          }
        }
      }
      running += has_run;
    }
  }
  EXPECT_GT(running * 10, rows * 7) << "few of the kernels run with the arguments of this test";
}

// A faster row must support what the portable row supports; otherwise a program is refused because of an earlier table.
TEST(Rows, OfOneNameDeclareTheSame) {
  const std::vector<KernelTable> tables = available_kernels();
  for (const KernelTable& table : tables) {
    for (const Kernel& row : table) {
      for (const KernelTable& other_table : tables) {
        const Kernel* other = find_kernel(Span<const KernelTable>(&other_table, 1), row.name);
        for (uint16_t i = 0; other && i < row.boxed.arity; ++i) {
          if (!is_tensor_kind(row.boxed.kinds[i])) continue;
          EXPECT_EQ(row.dtypes_of(i).bits(), other->dtypes_of(i).bits()) << row.name << ", argument " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rushlight
