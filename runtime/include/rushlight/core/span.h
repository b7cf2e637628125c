#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace rushlight {

// A view of consecutive elements. It does not own them.
template <typename T>
class Span {
  // Whether C is a container of consecutive elements of type T, such as std::vector or std::array.
  template <typename C, typename = void>
  struct IsContainer : std::false_type {};
  template <typename C>
  struct IsContainer<C, std::void_t<decltype(std::data(std::declval<C&>())), decltype(std::size(std::declval<C&>()))>>
      : std::is_convertible<std::remove_pointer_t<decltype(std::data(std::declval<C&>()))> (*)[], T (*)[]> {};

 public:
  using value_type = std::remove_cv_t<T>;
  using size_type = size_t;
  using iterator = T*;
  using const_iterator = const T*;

  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  constexpr Span(T* begin, T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  // This is a template so that {} makes an empty span instead of a span of one element.
  template <typename U,
            std::enable_if_t<std::is_same_v<std::remove_cv_t<U>, std::remove_cv_t<T>> && std::is_convertible_v<U*, T*>,
                             int> = 0>
  constexpr Span(U& element) : data_(&element), size_(1) {}  // NOLINT
  template <size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}  // NOLINT
  template <typename C, typename = std::enable_if_t<IsContainer<C>::value && !std::is_array_v<C> &&
                                                    !std::is_same_v<std::remove_cv_t<C>, Span>>>
  constexpr Span(C& container) : data_(std::data(container)), size_(std::size(container)) {}  // NOLINT
  template <typename C, typename = std::enable_if_t<IsContainer<const C>::value && std::is_const_v<T> &&
                                                    !std::is_array_v<C> && !std::is_same_v<std::remove_cv_t<C>, Span>>>
  constexpr Span(const C& container) : data_(std::data(container)), size_(std::size(container)) {}  // NOLINT

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](size_t i) const { return data_[i]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr const T* cbegin() const { return data_; }
  constexpr const T* cend() const { return data_ + size_; }
  constexpr T& front() const { return data_[0]; }
  constexpr T& back() const { return data_[size_ - 1]; }
  // `offset` and `offset` + `count` must be at most size(). slice() is ExecuTorch's name.
  constexpr Span subspan(size_t offset, size_t count) const { return Span(data_ + offset, count); }
  constexpr Span slice(size_t offset, size_t count) const { return subspan(offset, count); }
  constexpr Span slice(size_t offset) const { return subspan(offset, size_ - offset); }
  // Returns whether two views have equal elements.
  constexpr bool equals(Span<const T> other) const {
    if (size_ != other.size()) return false;
    for (size_t i = 0; i < size_; ++i) {
      if (!(data_[i] == other[i])) return false;
    }
    return true;
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

template <typename T>
constexpr bool operator==(Span<T> a, Span<T> b) {
  return a.equals(b);
}
template <typename T>
constexpr bool operator!=(Span<T> a, Span<T> b) {
  return !a.equals(b);
}

}  // namespace rushlight
