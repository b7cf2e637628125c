#include "rushlight/training/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/training/vector.h"

namespace rushlight {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The moments have no values before the first step.
template <typename C>
struct Moments {
  Vector<C> mean{C(kNaN), C(kNaN), C(kNaN)}, square{C(kNaN), C(kNaN), C(kNaN)}, maximum{C(kNaN), C(kNaN), C(kNaN)};
};

template <typename T, typename C>
Error step(const AdamWOptions& options, Vector<T>& parameter, std::initializer_list<T> values, Moments<C>& moments,
           int64_t number) {
  Vector<T> gradient(values);
  const Tensor maximum = moments.maximum.tensor();
  return adamw_step(options, parameter.tensor(), gradient.tensor(), moments.mean.tensor(), moments.square.tensor(),
                    options.amsgrad ? &maximum : nullptr, number);
}

template <typename T>
void expect_near(const std::vector<T>& values, std::initializer_list<double> expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double wanted = expected.begin()[i];
    EXPECT_NEAR(static_cast<double>(values[i]), wanted, tolerance * std::abs(wanted)) << "element " << i;
  }
}

TEST(AdamW, DefaultsAreThoseOfTorch) {
  const AdamWOptions options;
  EXPECT_EQ(options.lr, 1e-3);
  EXPECT_EQ(options.beta1, 0.9);
  EXPECT_EQ(options.beta2, 0.999);
  EXPECT_EQ(options.eps, 1e-8);
  EXPECT_EQ(options.weight_decay, 1e-2);
  EXPECT_FALSE(options.amsgrad);
  EXPECT_EQ(check_adamw_options(options), Error::Ok);
}

TEST(AdamW, TheFirstStepHasTheLengthOfTheLearningRate) {
  // Both moments have the bias corrections of one step, so that their ratio is the sign of the gradient.
  Vector<float> parameter{1, 1, 1};
  Moments<float> moments;
  ASSERT_EQ(step({0.25, 0.5, 0.75, 0, 0}, parameter, {4.0f, -1000.0f, 1e-3f}, moments, 1), Error::Ok);
  EXPECT_FLOAT_EQ(parameter.data[0], 0.75f);
  EXPECT_FLOAT_EQ(parameter.data[1], 1.25f);
  EXPECT_FLOAT_EQ(parameter.data[2], 0.75f);
  EXPECT_EQ(moments.mean.data[0], 0.5f * 4);
  EXPECT_EQ(moments.square.data[0], 0.25f * 16);
  EXPECT_TRUE(std::isnan(moments.maximum.data[0]));  // only AMSGrad changes it
}

TEST(AdamW, DecaysTheParameterWithoutTheGradient) {
  Vector<float> parameter{2, -4, 0};
  Moments<float> moments;
  ASSERT_EQ(step({0.5, 0.9, 0.999, 1e-8, 0.25}, parameter, {0.0f, 0.0f, 0.0f}, moments, 1), Error::Ok);
  EXPECT_EQ(parameter.data, (std::vector<float>{1.75f, -3.5f, 0}));
}

const std::vector<std::vector<float>> kGradients = {{0.5f, -3, 1e-3f}, {-1, 0.25f, 0}, {0.125f, 0.5f, -2e-3f}};

// Makes three steps and compares the parameter with values of torch.optim.AdamW in float32.
template <typename T, typename C>
void expect_steps_of_torch(bool amsgrad, double tolerance) {
  Vector<T> parameter{T(1.0f), T(-2.0f), T(0.5f)};
  Moments<C> moments;
  const AdamWOptions options{0.1, 0.8, 0.9, 1e-3, 0.05, amsgrad};
  for (int i = 0; i < 3; ++i) {
    const std::vector<float>& g = kGradients[i];
    ASSERT_EQ(step(options, parameter, {T(g[0]), T(g[1]), T(g[2])}, moments, i + 1), Error::Ok);
  }
  if (amsgrad) {
    expect_near(parameter.data, {0.949132144, -1.78917718, 0.441305816}, tolerance);
  } else {
    expect_near(parameter.data, {0.950139701, -1.78402174, 0.440740645}, tolerance);
  }
  expect_near(moments.mean.data, {-0.0710000023, -0.244000003, -0.000272000034}, tolerance);
  expect_near(moments.square.data, {0.111812495, 0.759624958, 4.81000029e-07}, tolerance);
  if (amsgrad) expect_near(moments.maximum.data, {0.122500002, 0.900000036, 4.81000029e-07}, tolerance);
}

TEST(AdamW, ThreeStepsAreThoseOfTorch) {
  for (const bool amsgrad : {false, true}) {
    expect_steps_of_torch<float, float>(amsgrad, 1e-6);
    expect_steps_of_torch<double, double>(amsgrad, 1e-6);
    expect_steps_of_torch<Half, float>(amsgrad, 4e-3);
    expect_steps_of_torch<BFloat16, float>(amsgrad, 2e-2);
  }
}

TEST(AdamW, MomentsOfHalfParametersDoNotVanish) {
  // The squares of these gradients are below the least positive float16, 6e-8.
  Vector<Half> parameter{Half(1.0f), Half(1.0f), Half(1.0f)};
  Moments<float> moments;
  ASSERT_EQ(step({0.25, 0.9, 0.999, 1e-8, 0}, parameter, {Half(1e-4f), Half(-1e-4f), Half(0.0f)}, moments, 1),
            Error::Ok);
  expect_near(parameter.data, {0.75, 1.25, 1}, 1e-3);
}

TEST(AdamW, ATensorWithoutElementsIsUnchanged) {
  Vector<float> empty{};
  EXPECT_EQ(adamw_step({}, empty.tensor(), empty.tensor(), empty.tensor(), empty.tensor(), nullptr, 1), Error::Ok);
}

TEST(AdamW, OptionsOutOfRangeAreRefused) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto check = [](double lr, double beta1, double beta2, double eps, double decay) {
    return check_adamw_options({lr, beta1, beta2, eps, decay});
  };
  EXPECT_EQ(check(0, 0, 0, 0, 0), Error::Ok);
  for (const double bad : {-0.1, infinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(check(bad, 0.9, 0.999, 1e-8, 0), Error::InvalidArgument);
    EXPECT_NE(std::string(last_error_message()).find("learning rate"), std::string::npos);
    EXPECT_EQ(check(1, bad, 0.999, 1e-8, 0), Error::InvalidArgument);
    EXPECT_NE(std::string(last_error_message()).find("beta1"), std::string::npos);
    EXPECT_EQ(check(1, 0.9, bad, 1e-8, 0), Error::InvalidArgument);
    EXPECT_NE(std::string(last_error_message()).find("beta2"), std::string::npos);
    EXPECT_EQ(check(1, 0.9, 0.999, bad, 0), Error::InvalidArgument);
    EXPECT_NE(std::string(last_error_message()).find("eps"), std::string::npos);
    EXPECT_EQ(check(1, 0.9, 0.999, 1e-8, bad), Error::InvalidArgument);
    EXPECT_NE(std::string(last_error_message()).find("weight decay"), std::string::npos);
  }
  EXPECT_EQ(check(1, 1, 0.999, 1e-8, 0), Error::InvalidArgument);
  EXPECT_EQ(check(1, 0.9, 1, 1e-8, 0), Error::InvalidArgument);
}

TEST(AdamW, RefusesWhatDoesNotFit) {
  Vector<float> parameter{1, 1, 1}, gradient{1, 1, 1}, longer{1, 2, 3, 4}, mean{7, 7, 7}, square{7, 7, 7};
  Vector<double> doubles{1, 1, 1};
  const auto run = [&](const AdamWOptions& options, Tensor with, Tensor m, Tensor v, const Tensor* x, int64_t number) {
    return adamw_step(options, parameter.tensor(), with, m, v, x, number);
  };
  const Tensor g = gradient.tensor(), m = mean.tensor(), v = square.tensor(), wide = doubles.tensor();
  EXPECT_EQ(run({-1}, g, m, v, nullptr, 1), Error::InvalidArgument);
  EXPECT_EQ(run({}, longer.tensor(), m, v, nullptr, 1), Error::InvalidArgument);
  EXPECT_EQ(run({}, wide, m, v, nullptr, 1), Error::InvalidArgument);
  EXPECT_EQ(run({}, g, longer.tensor(), v, nullptr, 1), Error::InvalidArgument);
  EXPECT_EQ(run({}, g, m, wide, nullptr, 1), Error::InvalidArgument);
  EXPECT_NE(std::string(last_error_message()).find("second moment is float64, but the parameter is float32"),
            std::string::npos);
  EXPECT_EQ(run({}, g, m, v, nullptr, 0), Error::InvalidArgument);
  EXPECT_NE(std::string(last_error_message()).find("number of the step is 0"), std::string::npos);
  const AdamWOptions amsgrad{1, 0.9, 0.999, 1e-8, 0, true};
  EXPECT_EQ(run(amsgrad, g, m, v, nullptr, 1), Error::InvalidArgument);
  EXPECT_NE(std::string(last_error_message()).find("AMSGrad"), std::string::npos);
  EXPECT_EQ(run(amsgrad, g, m, v, &wide, 1), Error::InvalidArgument);
  parameter.impl.data = nullptr;
  EXPECT_EQ(run({}, g, m, v, nullptr, 1), Error::InvalidArgument);
  parameter.impl.data = parameter.data.data();
  parameter.impl.dtype = gradient.impl.dtype = ScalarType::Int;
  EXPECT_EQ(run({}, g, m, v, nullptr, 1), Error::NotSupported);
  EXPECT_EQ(parameter.data, (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(mean.data, (std::vector<float>{7, 7, 7}));
  EXPECT_EQ(square.data, (std::vector<float>{7, 7, 7}));

  // The moments of 16-bit parameters are float32.
  Vector<Half> half{Half(1.0f), Half(1.0f), Half(1.0f)};
  EXPECT_EQ(adamw_step({}, half.tensor(), half.tensor(), half.tensor(), v, nullptr, 1), Error::InvalidArgument);
  EXPECT_NE(std::string(last_error_message()).find("must be float32 for a parameter of float16"), std::string::npos);
}

}  // namespace
}  // namespace rushlight
