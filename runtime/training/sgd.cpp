#include "rushlight/training/sgd.h"

#include <cmath>
#include <cstring>

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

Error check_like(const Tensor& parameter, const Tensor& other, const char* what) {
  RL_REQUIRE(other.scalar_type() == parameter.scalar_type(), InvalidArgument, "the %s is %s, but the parameter is %s",
             what, dtype_name(other.scalar_type()), dtype_name(parameter.scalar_type()));
  RL_REQUIRE(same_shape(parameter, other), InvalidArgument, "the %s does not have the shape of the parameter", what);
  RL_REQUIRE(std::memcmp(parameter.dim_order().data(), other.dim_order().data(), parameter.dim_order().size()) == 0,
             InvalidArgument, "the %s does not have the dim order of the parameter", what);
  RL_REQUIRE(other.numel() == 0 || other.const_data_ptr(), InvalidArgument, "the %s has no memory", what);
  return Error::Ok;
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
  const int64_t count = parameter.numel();
  RL_REQUIRE(count == 0 || parameter.const_data_ptr(), InvalidArgument, "the parameter has no memory");
  RL_TRY(check_like(parameter, gradient, "gradient"));
  RL_REQUIRE(direction || options.momentum == 0, InvalidArgument,
             "an SGD step with a momentum of %g needs a momentum buffer", options.momentum);
  if (direction) RL_TRY(check_like(parameter, *direction, "momentum buffer"));
  const auto run = [&](auto* element, auto compute) {
    using T = std::remove_pointer_t<decltype(element)>;
    update<T, decltype(compute)>(options, count, parameter.mutable_data_ptr<T>(), gradient.const_data_ptr<T>(),
                                 direction ? direction->mutable_data_ptr<T>() : nullptr, is_first);
    return Error::Ok;
  };
  switch (parameter.scalar_type()) {
    case ScalarType::Float:
      return run(static_cast<float*>(nullptr), 0.0f);
    case ScalarType::Double:
      return run(static_cast<double*>(nullptr), 0.0);
    case ScalarType::Half:
      return run(static_cast<Half*>(nullptr), 0.0f);
    case ScalarType::BFloat16:
      return run(static_cast<BFloat16*>(nullptr), 0.0f);
    default:
      return fail(Error::NotSupported,
                  "SGD does not support parameters of dtype %s, only float32, float64, float16 and bfloat16",
                  dtype_name(parameter.scalar_type()));
  }
}

}  // namespace rushlight
