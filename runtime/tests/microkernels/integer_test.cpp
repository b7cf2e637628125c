#include "microkernels/tables/integer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace rushlight::microkernels {
namespace {

std::vector<const IntegerMicrokernels*> all_sets() {
  std::vector<const IntegerMicrokernels*> sets;
  for (const char* name : {"generic", "neon", "rvv", "rvv256", "avx2", "avx512"}) {
    if (const IntegerMicrokernels* set = integer_microkernels_named(name)) sets.push_back(set);
  }
  return sets;
}

template <typename T>
constexpr IntegerType type_of() {
  if (std::is_same_v<T, uint8_t>) return IntegerType::UInt8;
  if (std::is_same_v<T, int8_t>) return IntegerType::Int8;
  if (std::is_same_v<T, int16_t>) return IntegerType::Int16;
  return std::is_same_v<T, int32_t> ? IntegerType::Int32 : IntegerType::Int64;
}

template <typename T>
struct Data {
  explicit Data(size_t n) : a(n), b(n), choice(n) {
    std::mt19937_64 random(n);
    for (size_t i = 0; i < n; ++i) {
      a[i] = static_cast<T>(random());
      b[i] = i % 3 == 0 ? a[i] : static_cast<T>(random());
      choice[i] = static_cast<uint8_t>(random() % 2);
    }
    a[n / 2] = std::numeric_limits<T>::max();
    a[n / 3] = std::numeric_limits<T>::min();
  }
  std::vector<T> a, b;
  std::vector<uint8_t> choice;
};

template <typename T>
T wrapped(IntegerOp op, T a, T b) {
  const auto x = static_cast<uint64_t>(static_cast<int64_t>(a)), y = static_cast<uint64_t>(static_cast<int64_t>(b));
  switch (op) {
    case IntegerOp::Add:
      return static_cast<T>(x + y);
    case IntegerOp::Sub:
      return static_cast<T>(x - y);
    case IntegerOp::Mul:
      return static_cast<T>(x * y);
    case IntegerOp::Maximum:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}

template <typename T>
bool holds(CompareOp op, T a, T b) {
  switch (op) {
    case CompareOp::Equal:
      return a == b;
    case CompareOp::NotEqual:
      return a != b;
    case CompareOp::Less:
      return a < b;
    case CompareOp::LessEqual:
      return a <= b;
    case CompareOp::Greater:
      return a > b;
    default:
      return a >= b;
  }
}

template <typename T>
void check_elements(const IntegerMicrokernels& kernels, size_t n) {
  const auto count = static_cast<int64_t>(n);
  const Data<T> d(n);
  for (const int steps : {1, 2, 3}) {
    const int64_t a_step = steps & 1, b_step = steps >> 1;
    const auto a = [&](size_t i) { return d.a[a_step ? i : 0]; };
    const auto b = [&](size_t i) { return d.b[b_step ? i : 0]; };
    for (int op = 0; op <= static_cast<int>(IntegerOp::Minimum); ++op) {
      std::vector<T> y = d.a;
      // In place where this is allowed.
      const T* const left = a_step ? y.data() : d.a.data();
      kernels.binary(type_of<T>(), IntegerOp(op), left, a_step, d.b.data(), b_step, y.data(), count);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], wrapped(IntegerOp(op), a(i), b(i))) << op;
    }
    for (int op = 0; op <= static_cast<int>(CompareOp::GreaterEqual); ++op) {
      std::vector<uint8_t> y(n, 77);
      kernels.compare(type_of<T>(), CompareOp(op), d.a.data(), a_step, d.b.data(), b_step, y.data(), count);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], holds(CompareOp(op), a(i), b(i))) << op;
    }
    for (const int64_t c_step : {0, 1}) {
      std::vector<T> y(n);
      kernels.select(sizeof(T), d.choice.data(), c_step, d.a.data(), a_step, d.b.data(), b_step, y.data(), count);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], d.choice[c_step ? i : 0] ? a(i) : b(i));
    }
  }
  std::vector<T> y(n);
  kernels.clamp(type_of<T>(), d.a.data(), y.data(), count, 3, 100);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], std::clamp<T>(d.a[i], 3, 100));
}

template <typename T>
void check_reductions(const IntegerMicrokernels& kernels, size_t n) {
  const auto count = static_cast<int64_t>(n);
  const Data<T> d(n);
  uint64_t sum = 0;
  std::vector<int64_t> sums(n, 5);
  for (const T value : d.a) sum += static_cast<uint64_t>(static_cast<int64_t>(value));
  EXPECT_EQ(kernels.sum(type_of<T>(), d.a.data(), count), static_cast<int64_t>(sum));
  // Rows of three columns. Each row begins one element after the previous one.
  const size_t columns = std::min<size_t>(n, 3), rows = n - columns;
  kernels.add_rows(type_of<T>(), d.a.data(), 1, static_cast<int64_t>(rows), sums.data(), static_cast<int64_t>(columns));
  std::vector<T> most(columns, T(1)), least(columns, T(1));
  kernels.reduce_rows(type_of<T>(), IntegerOp::Maximum, d.a.data(), 1, static_cast<int64_t>(rows), most.data(),
                      static_cast<int64_t>(columns));
  kernels.reduce_rows(type_of<T>(), IntegerOp::Minimum, d.a.data(), 1, static_cast<int64_t>(rows), least.data(),
                      static_cast<int64_t>(columns));
  for (size_t j = 0; j < columns; ++j) {
    uint64_t want = 5;
    T high = 1, low = 1;
    for (size_t i = 0; i < rows; ++i) {
      want += static_cast<uint64_t>(static_cast<int64_t>(d.a[i + j]));
      high = std::max(high, d.a[i + j]), low = std::min(low, d.a[i + j]);
    }
    ASSERT_EQ(static_cast<uint64_t>(sums[j]), want);
    ASSERT_EQ(most[j], high);
    ASSERT_EQ(least[j], low);
  }
  for (const bool largest : {false, true}) {
    const T want = largest ? *std::max_element(d.a.begin(), d.a.end()) : *std::min_element(d.a.begin(), d.a.end());
    const int64_t found = kernels.extreme(type_of<T>(), largest, d.a.data(), count);
    EXPECT_EQ(found, int64_t{want});
    const auto at = std::find(d.a.begin(), d.a.end(), want) - d.a.begin();
    EXPECT_EQ(kernels.find(type_of<T>(), d.a.data(), count, found), at);
  }
  EXPECT_EQ(kernels.find(type_of<T>(), std::vector<T>(n, 1).data(), count, 2), count);
}

template <typename T>
void check_products(const IntegerMicrokernels& kernels, size_t rows, size_t depth) {
  const size_t columns = static_cast<size_t>(kProductColumns), row = depth + 1;
  std::mt19937_64 random(rows);
  const auto number = [&] { return static_cast<T>(static_cast<T>(random() % 1000) - T(300)); };
  std::vector<T> a(rows * row), b(depth * columns), sums((rows + 3) * columns), want;
  for (auto* numbers : {&a, &b, &sums}) std::generate(numbers->begin(), numbers->end(), number);
  want = sums;
  for (size_t i = 0; i < rows * columns; ++i) {
    for (size_t k = 0; k < depth; ++k) want[i] += a[i / columns * row + k] * b[k * columns + i % columns];
  }
  kernels.add_products(std::is_floating_point_v<T>, a.data(), static_cast<int64_t>(row), b.data(), sums.data(),
                       static_cast<int64_t>(rows), static_cast<int64_t>(depth));
  for (size_t i = 0; i < rows * columns; ++i) ASSERT_EQ(sums[i], want[i]) << i;
}

class IntegerTest : public testing::TestWithParam<const IntegerMicrokernels*> {};

INSTANTIATE_TEST_SUITE_P(Sets, IntegerTest, testing::ValuesIn(all_sets()),
                         [](const testing::TestParamInfo<const IntegerMicrokernels*>& set) {
                           return std::string(set.param->name);
                         });

TEST_P(IntegerTest, Elements) {
  for (const size_t n : {1, 7, 100}) {
    check_elements<uint8_t>(*GetParam(), n);
    check_elements<int8_t>(*GetParam(), n);
    check_elements<int16_t>(*GetParam(), n);
    check_elements<int32_t>(*GetParam(), n);
    check_elements<int64_t>(*GetParam(), n);
  }
}

TEST_P(IntegerTest, Reductions) {
  for (const size_t n : {1, 7, 1000, 70000}) {
    check_reductions<uint8_t>(*GetParam(), n);
    check_reductions<int8_t>(*GetParam(), n);
    check_reductions<int16_t>(*GetParam(), n);
    check_reductions<int32_t>(*GetParam(), n);
    check_reductions<int64_t>(*GetParam(), n);
  }
}

TEST_P(IntegerTest, Products) {
  for (const size_t rows : {1, 2, 3, 4, 7, 16}) {
    for (const size_t depth : {0, 1, 5, 64}) {
      check_products<double>(*GetParam(), rows, depth);
      check_products<uint64_t>(*GetParam(), rows, depth);
    }
  }
}

}  // namespace
}  // namespace rushlight::microkernels
