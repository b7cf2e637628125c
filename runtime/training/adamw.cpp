#include "rushlight/training/adamw.h"

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "training/arguments.h"

namespace rushlight {
namespace {

// The factors of one step in the type of the arithmetic.
template <typename C>
struct Factors {
  Factors(const AdamWOptions& options, int64_t step)
      : decay(static_cast<C>(1 - options.lr * options.weight_decay)),
        beta1(static_cast<C>(options.beta1)),
        one_minus_beta1(static_cast<C>(1 - options.beta1)),
        beta2(static_cast<C>(options.beta2)),
        one_minus_beta2(static_cast<C>(1 - options.beta2)),
        eps(static_cast<C>(options.eps)),
        rate(static_cast<C>(options.lr / (1 - std::pow(options.beta1, static_cast<double>(step))))),
        correction(static_cast<C>(std::sqrt(1 - std::pow(options.beta2, static_cast<double>(step))))) {}
  C decay;  // 1 - lr * weight_decay, by which the parameter is multiplied
  C beta1, one_minus_beta1;
  C beta2, one_minus_beta2;
  C eps;
  C rate;        // the learning rate with the bias correction of the first moment
  C correction;  // the square root of the bias correction of the second moment
};

// Updates all elements of a parameter and its moments. `maximum` is only used with AMSGrad.
template <bool kAmsgrad, typename T, typename C>
inline __attribute__((always_inline)) void update(const Factors<C>& factors, int64_t count, T* __restrict parameter,
                                                  const T* __restrict gradient, C* __restrict mean,
                                                  C* __restrict square, C* __restrict maximum) {
  const Factors<C> f = factors;
  for (int64_t i = 0; i < count; ++i) {
    const C g = static_cast<C>(gradient[i]);
    const C m = f.beta1 * mean[i] + f.one_minus_beta1 * g;
    C v = f.beta2 * square[i] + f.one_minus_beta2 * g * g;
    mean[i] = m;
    square[i] = v;
    if (kAmsgrad) {
      v = v < maximum[i] ? maximum[i] : v;
      maximum[i] = v;
    }
    const C decayed = f.decay * static_cast<C>(parameter[i]);
    parameter[i] = static_cast<T>(decayed - f.rate * m / (std::sqrt(v) / f.correction + f.eps));
  }
}

template <bool kAmsgrad, typename T, typename C>
void update_reals(const Factors<C>& factors, int64_t count, T* __restrict parameter, const T* __restrict gradient,
                  C* __restrict mean, C* __restrict square, C* __restrict maximum) {
  update<kAmsgrad>(factors, count, parameter, gradient, mean, square, maximum);
}

// For 16-bit parameters, whose conversions would make vectorized code long. It is optimized for size.
template <bool kAmsgrad, typename T, typename C>
[[gnu::cold]] void update_halves(const Factors<C>& factors, int64_t count, T* __restrict parameter,
                                 const T* __restrict gradient, C* __restrict mean, C* __restrict square,
                                 C* __restrict maximum) {
  update<kAmsgrad>(factors, count, parameter, gradient, mean, square, maximum);
}

template <bool kAmsgrad, typename T, typename C>
constexpr auto update_function() {
  if constexpr (sizeof(T) == 2)
    return &update_halves<kAmsgrad, T, C>;
  else
    return &update_reals<kAmsgrad, T, C>;
}

}  // namespace

Error check_adamw_options(const AdamWOptions& options) {
  const auto valid = [](double value) { return std::isfinite(value) && value >= 0; };
  RL_REQUIRE(valid(options.lr), InvalidArgument, "the learning rate is %g; it must be a number >= 0", options.lr);
  RL_REQUIRE(options.beta1 >= 0 && options.beta1 < 1, InvalidArgument, "beta1 is %g; it must be in [0, 1)",
             options.beta1);
  RL_REQUIRE(options.beta2 >= 0 && options.beta2 < 1, InvalidArgument, "beta2 is %g; it must be in [0, 1)",
             options.beta2);
  RL_REQUIRE(valid(options.eps), InvalidArgument, "eps is %g; it must be a number >= 0", options.eps);
  RL_REQUIRE(valid(options.weight_decay), InvalidArgument, "the weight decay is %g; it must be a number >= 0",
             options.weight_decay);
  return Error::Ok;
}

ScalarType adamw_moment_dtype(ScalarType parameter) {
  return parameter == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
}

Error adamw_step(const AdamWOptions& options, const Tensor& parameter, const Tensor& gradient, const Tensor& mean,
                 const Tensor& square, const Tensor* maximum, int64_t step) {
  RL_TRY(check_adamw_options(options));
  RL_TRY(check_gradient("AdamW", parameter, gradient));
  const ScalarType dtype = adamw_moment_dtype(parameter.scalar_type());
  RL_TRY(check_like(parameter, mean, dtype, "first moment"));
  RL_TRY(check_like(parameter, square, dtype, "second moment"));
  RL_REQUIRE(maximum || !options.amsgrad, InvalidArgument,
             "an AdamW step with AMSGrad needs a buffer of the largest second moment");
  if (options.amsgrad) RL_TRY(check_like(parameter, *maximum, dtype, "largest second moment"));
  RL_REQUIRE(step >= 1, InvalidArgument, "the number of the step is %lld; the first step is 1",
             static_cast<long long>(step));
  run_with_types(parameter.scalar_type(), [&](auto* element, auto* number) {
    using T = std::remove_pointer_t<decltype(element)>;
    using C = std::remove_pointer_t<decltype(number)>;
    C* const m = mean.mutable_data_ptr<C>();
    C* const v = square.mutable_data_ptr<C>();
    C* const x = options.amsgrad ? maximum->mutable_data_ptr<C>() : nullptr;
    if (step == 1) {
      for (C* const buffer : {m, v, x}) {
        if (buffer) std::memset(buffer, 0, mean.nbytes());
      }
    }
    const Factors<C> factors(options, step);
    const auto run = options.amsgrad ? update_function<true, T, C>() : update_function<false, T, C>();
    run(factors, parameter.numel(), parameter.mutable_data_ptr<T>(), gradient.const_data_ptr<T>(), m, v, x);
  });
  return Error::Ok;
}

}  // namespace rushlight
