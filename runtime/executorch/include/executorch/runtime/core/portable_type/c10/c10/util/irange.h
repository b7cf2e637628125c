#pragma once

#include <cstddef>
#include <type_traits>

// c10::irange, as kernels for ExecuTorch use it in loops: for (const auto i : c10::irange(n)).
namespace c10 {

// The integers from `begin` to `end` - 1.
template <typename T>
class IntegerRange {
 public:
  class Iterator {
   public:
    explicit Iterator(T value) : value_(value) {}
    T operator*() const { return value_; }
    Iterator& operator++() {
      ++value_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return value_ == other.value_; }
    bool operator!=(const Iterator& other) const { return value_ != other.value_; }

   private:
    T value_;
  };
  IntegerRange(T begin, T end) : begin_(Iterator(begin)), end_(Iterator(begin < end ? end : begin)) {}
  Iterator begin() const { return begin_; }
  Iterator end() const { return end_; }

 private:
  Iterator begin_;
  Iterator end_;
};

template <typename Begin, typename End, typename = std::enable_if_t<std::is_integral_v<Begin>>>
IntegerRange<End> irange(Begin begin, End end) {
  return {static_cast<End>(begin), end};
}
template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
IntegerRange<T> irange(T end) {
  return {T(0), end};
}

}  // namespace c10
