#include "rushlight/core/kernel.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/kernel_rows.h"

namespace rushlight {
namespace {

void nothing(KernelRuntimeContext&, const Tensor&, Tensor&) {}

TEST(FindKernel, SearchesTablesInOrder) {
  const Kernel first[] = {{"a::x.out", boxed<&nothing>, {}}, {"a::x_y.out", boxed<&nothing>, {}}};
  const Kernel second[] = {
      {"a::b", boxed<&nothing>, {}}, {"a::x.out", boxed<&nothing>, {}}, {"b::z", boxed<&nothing>, {}}};
  const KernelTable tables[] = {first, KernelTable(), second};
  EXPECT_EQ(find_kernel(tables, "a::x.out"), &first[0]);
  EXPECT_EQ(find_kernel(tables, "a::x_y.out"), &first[1]);
  EXPECT_EQ(find_kernel(tables, "b::z"), &second[2]);
  for (const char* absent : {"", "a::", "a::x", "a::x.out2", "b::zz", "zzz"}) {
    EXPECT_EQ(find_kernel(tables, absent), nullptr) << absent;
  }
}

TEST(Dtypes, AreDeclaredForAllTensors) {
  const Kernel row = {"a::x.out", boxed<&nothing>, DtypeSet(ScalarType::Float), {{args(1), dtypes::kIndex}}};
  TensorImpl first, second;
  EValue values[] = {EValue(&first), EValue(&second)};
  EValue* arguments[] = {&values[0], &values[1]};
  first.dtype = ScalarType::Float;
  second.dtype = ScalarType::Long;
  EXPECT_FALSE(find_dtype_mismatch(row, arguments).found);
  second.dtype = ScalarType::Float;
  EXPECT_EQ(find_dtype_mismatch(row, arguments).argument, 1);
  first.dtype = ScalarType::QInt32;
  EXPECT_EQ(find_dtype_mismatch(row, arguments).argument, 0);
  EXPECT_EQ(find_dtype_mismatch(row, arguments).dtype, ScalarType::QInt32);
  const Kernel any = {"a::x.out", boxed<&nothing>, {}};
  EXPECT_FALSE(find_dtype_mismatch(any, arguments).found);
}

TEST(Keys, ChooseByDtypeAndDimOrder) {
  SizesType sizes[] = {2, 3};
  const DimOrderType rows[] = {0, 1};
  const DimOrderType columns[] = {1, 0};
  TensorImpl x, out;
  for (TensorImpl* impl : {&x, &out}) {
    impl->sizes = sizes;
    impl->dim_order = rows;
    impl->dim = 2;
  }
  EValue values[] = {EValue(&x), EValue(&out)};
  EValue* arguments[] = {&values[0], &values[1]};
  const auto fits = [&](const char* key) {
    Kernel row = {"a::x.out", boxed<&nothing>, {}};
    row.key = key;
    return fits_key(row, arguments);
  };
  EXPECT_TRUE(fits(nullptr));
  EXPECT_TRUE(fits("v1/6;0,1|6;0,1"));
  EXPECT_TRUE(fits("v1/6;0,1|6;0,1|6;0,1")) << "the out again, as a result";
  for (const char* other : {"", "v1/", "v2/6;0,1|6;0,1", "v1/7;0,1|6;0,1", "v1/6;1,0|6;0,1", "v1/6;0,1", "v1/6;0|6;0,1",
                            "v1/6;0,1|6;0,1|7;0,1", "v1/6;0,1|6;0,1,2", "v1/6;0,1|6;0,1|6;0,1|6;0,1"}) {
    EXPECT_FALSE(fits(other)) << other;
  }
  x.dim_order = columns;
  EXPECT_TRUE(fits("v1/6;1,0|6;0,1"));
}

TEST(Dtypes, OfOneRowMayCoverThoseOfAnother) {
  const Kernel narrow = {"a::x.out", boxed<&nothing>, DtypeSet(ScalarType::Float), {{args(1), dtypes::kIndex}}};
  const Kernel wide = {"a::x.out", boxed<&nothing>, dtypes::kFloat, {{args(1), dtypes::kInt}}};
  const Kernel plain = {"a::x.out", boxed<&nothing>, dtypes::kReal};
  const Kernel any = {"a::x.out", boxed<&nothing>, {}};
  EXPECT_TRUE(covers(wide, narrow));
  EXPECT_FALSE(covers(narrow, wide));
  EXPECT_TRUE(covers(plain, wide));
  EXPECT_FALSE(covers(wide, plain)) << "argument 1 takes no float there";
  EXPECT_TRUE(covers(any, plain));
  EXPECT_FALSE(covers(plain, any));
}

TEST(Dtypes, OfNoTypeAreInNoSet) {
  for (const int type : {-128, -1, kScalarTypeCount, 32, 127}) {
    EXPECT_FALSE(dtypes::kAll.contains(static_cast<ScalarType>(type)));
  }
}

struct Seen {
  int64_t count = 0;
  double number = 0;
  bool flag = false;
  std::vector<int64_t> list;
  bool has_tensor = true;
  bool has_dtype = true;
  ScalarType dtype{};
  std::string_view text;
  size_t tensors = 0;
} seen;

void takes_all(KernelRuntimeContext&, int64_t count, double number, bool flag, Span<const int64_t> list,
               const std::optional<Tensor>& tensor, std::optional<ScalarType> dtype, std::string_view text,
               Span<const std::optional<Tensor>> tensors, EValue& result, Tensor& out) {
  seen = {count,
          number,
          flag,
          {list.begin(), list.end()},
          tensor.has_value(),
          dtype.has_value(),
          dtype.value_or(ScalarType::Bool),
          text,
          tensors.size()};
  for (const auto& item : tensors) seen.tensors += item.has_value() ? 10 : 0;
  result = EValue(count + 1);
  out.impl()->numel = 77;
}

TEST(Boxed, UnpacksEachKindOfArgument) {
  constexpr BoxedKernel kernel = boxed<&takes_all>;
  ASSERT_EQ(kernel.arity, 10);
  const ArgKind kinds[] = {ArgKind::Int,
                           ArgKind::Double,
                           ArgKind::Bool,
                           ArgKind::IntList,
                           ArgKind::OptionalTensor,
                           ArgKind::OptionalScalarType,
                           ArgKind::String,
                           ArgKind::OptionalTensorList,
                           ArgKind::Value,
                           ArgKind::OutTensor};
  for (int i = 0; i < 10; ++i) EXPECT_STREQ(to_string(kernel.kinds[i]), to_string(kinds[i]));

  TensorImpl impl;
  EValue three(int64_t{3}), yes(true), none, dtype(int64_t{6}), tensor(&impl), result(int64_t{0});
  const std::string_view text = "text";
  EValue string(&text);
  EValue* items[] = {&three, &yes};
  int64_t item_room[2];
  const BoxedList<int64_t> ints{items, item_room, 2};
  EValue list(&ints);
  EValue* optional_items[] = {&tensor, nullptr, &none};
  std::optional<Tensor> optional_room[3];
  const BoxedList<std::optional<Tensor>> optionals{optional_items, optional_room, 3};
  EValue optional_list(&optionals);
  EValue* arguments[] = {&three, &three, &yes, &list, &none, &dtype, &string, &optional_list, &result, &tensor};
  KernelRuntimeContext context(nullptr, nullptr);
  kernel.call(context, arguments);
  EXPECT_EQ(seen.count, 3);
  EXPECT_EQ(seen.number, 3.0) << "an Int where a Double is asked";
  EXPECT_TRUE(seen.flag);
  EXPECT_EQ(seen.list, (std::vector<int64_t>{3, 1}));
  EXPECT_FALSE(seen.has_tensor);
  EXPECT_EQ(seen.dtype, ScalarType::Float);
  EXPECT_EQ(seen.text, "text");
  EXPECT_EQ(seen.tensors, 13u);
  EXPECT_EQ(result.to_int(), 4);
  EXPECT_EQ(impl.numel, 77);

  three = EValue(int64_t{8});
  kernel.call(context, arguments);
  EXPECT_EQ(seen.list, (std::vector<int64_t>{8, 1})) << "lists are read anew";
}

TEST(Accepts, IsATable) {
  EXPECT_TRUE(accepts(ArgKind::Double, Tag::Int));
  EXPECT_FALSE(accepts(ArgKind::Int, Tag::Double));
  EXPECT_TRUE(accepts(ArgKind::Scalar, Tag::Bool));
  EXPECT_FALSE(accepts(ArgKind::Scalar, Tag::None));
  EXPECT_TRUE(accepts(ArgKind::OptionalScalar, Tag::None));
  EXPECT_FALSE(accepts(ArgKind::TensorList, Tag::ListOptionalTensor));
  EXPECT_FALSE(accepts(ArgKind::OutTensor, Tag::None));
  EXPECT_TRUE(accepts(ArgKind::OutTensorList, Tag::ListTensor));
  EXPECT_TRUE(accepts(ArgKind::Value, Tag::String));
  // A kind accepts only tags whose payload it reads with the right type.
  for (int kind = 0; kind <= static_cast<int>(ArgKind::OutTensorList); ++kind) {
    for (const Tag tag : {Tag::Tensor, Tag::String, Tag::ListInt, Tag::ListDouble, Tag::ListBool, Tag::ListTensor,
                          Tag::ListOptionalTensor}) {
      const auto argument = static_cast<ArgKind>(kind);
      if (argument == ArgKind::Value || !accepts(argument, tag)) continue;
      EXPECT_NE(std::string(to_string(argument)).find(to_string(tag)), std::string::npos)
          << to_string(argument) << " takes a " << to_string(tag);
    }
  }
}

}  // namespace
}  // namespace rushlight
