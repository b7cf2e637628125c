#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "rushlight/core/error.h"

namespace rushlight {

// Ends the program because it read the value of a Result that holds an error.
[[noreturn]] void panic_without_value(Error error) noexcept;

// A value, or the error of the function that should have returned it.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(Error error) : error_(error == Error::Ok ? Error::Internal : error) {}  // NOLINT
  Result(T value) : value_(std::move(value)), error_(Error::Ok) {}               // NOLINT
  Result(Result&& other) noexcept : error_(other.error_) {
    if (ok()) new (const_cast<std::remove_cv_t<T>*>(&value_)) T(std::move(other.value_));
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  Result& operator=(Result&&) = delete;
  ~Result() {
    if (ok()) value_.~T();
  }

  bool ok() const { return error_ == Error::Ok; }
  Error error() const { return error_; }

  // These functions may be called only if ok(): the program ends otherwise (rushlight_panic).
  T& get() { return require_value(), value_; }
  const T& get() const { return require_value(), value_; }
  T& operator*() { return get(); }
  const T& operator*() const { return get(); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &get(); }

 private:
  void require_value() const {
    if (!ok()) panic_without_value(error_);
  }

  union {
    T value_;
  };
  Error error_;
};

}  // namespace rushlight

#define RL_CONCAT_(a, b) a##b
#define RL_CONCAT(a, b) RL_CONCAT_(a, b)
#define RL_ASSIGN_(result, declaration, expression) \
  auto result = (expression);                       \
  if (!result.ok()) return result.error();          \
  declaration = std::move(result.get())

// RL_ASSIGN(auto x, f()) assigns the value of a Result to x, or returns its error from the function.
#define RL_ASSIGN(declaration, expression) RL_ASSIGN_(RL_CONCAT(rl_result_, __LINE__), declaration, expression)
