#include "rushlight/training/sgd.h"

#include <cmath>
#include <type_traits>

#include "training/arguments.h"

namespace rushlight {
namespace {

// Updates all elements of a parameter by one step, with arithmetic in type `C`.
template <typename T, typename C>
void update(const SgdOptions& options, int64_t count, T* parameter, const T* gradient, T* direction, bool is_first) {
  const C lr = static_cast<C>(options.lr);
  const C decay = static_cast<C>(options.weight_decay);
  const C momentum = static_cast<C>(options.momentum);
  const C share = static_cast<C>(1 - options.dampening);
  for (int64_t i = 0; i < count; ++i) {
    const C value = static_cast<C>(parameter[i]);
    C step = static_cast<C>(gradient[i]);
    if (decay != 0) step += decay * value;
    if (momentum != 0) {
      const C mean = is_first ? step : momentum * static_cast<C>(direction[i]) + share * step;
      direction[i] = static_cast<T>(mean);
      step = options.nesterov ? step + momentum * mean : mean;
    }
    parameter[i] = static_cast<T>(value - lr * step);
  }
}

}  // namespace

Error check_sgd_options(const SgdOptions& options) {
  const auto valid = [](double value) { return std::isfinite(value) && value >= 0; };
  RL_REQUIRE(valid(options.lr), InvalidArgument, "the learning rate is %g; it must be a number >= 0", options.lr);
  RL_REQUIRE(valid(options.momentum), InvalidArgument, "the momentum is %g; it must be a number >= 0",
             options.momentum);
  RL_REQUIRE(valid(options.weight_decay), InvalidArgument, "the weight decay is %g; it must be a number >= 0",
             options.weight_decay);
  RL_REQUIRE(std::isfinite(options.dampening), InvalidArgument, "the dampening is %g; it must be a finite number",
             options.dampening);
  RL_REQUIRE(!options.nesterov || (options.momentum > 0 && options.dampening == 0), InvalidArgument,
             "Nesterov momentum needs a momentum above 0 and a dampening of 0; they are %g and %g", options.momentum,
             options.dampening);
  return Error::Ok;
}

Error sgd_step(const SgdOptions& options, const Tensor& parameter, const Tensor& gradient, const Tensor* direction,
               bool is_first) {
  RL_TRY(check_sgd_options(options));
  RL_TRY(check_gradient("SGD", parameter, gradient));
  RL_REQUIRE(direction || options.momentum == 0, InvalidArgument,
             "an SGD step with a momentum of %g needs a momentum buffer", options.momentum);
  if (direction) RL_TRY(check_like(parameter, *direction, parameter.scalar_type(), "momentum buffer"));
  run_with_types(parameter.scalar_type(), [&](auto* element, auto* number) {
    using T = std::remove_pointer_t<decltype(element)>;
    using C = std::remove_pointer_t<decltype(number)>;
    update<T, C>(options, parameter.numel(), parameter.mutable_data_ptr<T>(), gradient.const_data_ptr<T>(),
                 direction ? direction->mutable_data_ptr<T>() : nullptr, is_first);
  });
  return Error::Ok;
}

}  // namespace rushlight
