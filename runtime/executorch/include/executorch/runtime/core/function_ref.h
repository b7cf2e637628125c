#pragma once

#include <type_traits>
#include <utility>

namespace executorch {
namespace runtime {

template <typename Signature>
class FunctionRef;

// A reference to a callable object. It does not own the object.
template <typename R, typename... Arguments>
class FunctionRef<R(Arguments...)> {
 public:
  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, FunctionRef>>>
  FunctionRef(F&& function)  // NOLINT
      : object_(const_cast<void*>(static_cast<const void*>(&function))),
        call_([](void* object, Arguments... arguments) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Arguments>(arguments)...);
        }) {}
  R operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  void* object_;
  R (*call_)(void*, Arguments...);
};

}  // namespace runtime
}  // namespace executorch
