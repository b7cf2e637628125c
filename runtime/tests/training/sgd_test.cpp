#include "rushlight/training/sgd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "tests/training/vector.h"

namespace rushlight {
namespace {

using Vector = rushlight::Vector<float>;

TEST(Sgd, SubtractsTheScaledGradient) {
  Vector parameter({1, 2}), gradient({10, -10});
  ASSERT_EQ(sgd_step({0.1}, parameter.tensor(), gradient.tensor(), nullptr, true), Error::Ok);
  EXPECT_FLOAT_EQ(parameter.data[0], 0);
  EXPECT_FLOAT_EQ(parameter.data[1], 3);
  EXPECT_EQ(gradient.data[0], 10);
}

TEST(Sgd, DecaysTheParameter) {
  Vector parameter({2}), gradient({1});
  ASSERT_EQ(sgd_step({0.5, 0, 0, 0.25}, parameter.tensor(), gradient.tensor(), nullptr, true), Error::Ok);
  EXPECT_FLOAT_EQ(parameter.data[0], 2 - 0.5f * (1 + 0.25f * 2));
}

TEST(Sgd, KeepsTheDirection) {
  // The direction has no value before the first step.
  Vector parameter({1}), gradient({2}), direction({std::numeric_limits<float>::quiet_NaN()});
  const Tensor held = direction.tensor();
  const SgdOptions options{0.5, 0.5, 0.25};
  ASSERT_EQ(sgd_step(options, parameter.tensor(), gradient.tensor(), &held, true), Error::Ok);
  EXPECT_FLOAT_EQ(direction.data[0], 2);
  EXPECT_FLOAT_EQ(parameter.data[0], 0);
  ASSERT_EQ(sgd_step(options, parameter.tensor(), gradient.tensor(), &held, false), Error::Ok);
  EXPECT_FLOAT_EQ(direction.data[0], 0.5f * 2 + 0.75f * 2);
  EXPECT_FLOAT_EQ(parameter.data[0], -1.25);
}

TEST(Sgd, LooksAheadWithNesterov) {
  Vector parameter({0}), gradient({2}), direction({0});
  const Tensor held = direction.tensor();
  ASSERT_EQ(sgd_step({1, 0.5, 0, 0, true}, parameter.tensor(), gradient.tensor(), &held, true), Error::Ok);
  EXPECT_FLOAT_EQ(parameter.data[0], -(2 + 0.5f * 2));
}

TEST(Sgd, RefusesWhatDoesNotFit) {
  Vector parameter({1}), longer({1, 2}), gradient({1});
  const auto step = [&](const SgdOptions& options, Vector& with) {
    return sgd_step(options, parameter.tensor(), with.tensor(), nullptr, true);
  };
  EXPECT_EQ(step({1}, longer), Error::InvalidArgument);
  EXPECT_EQ(step({-1}, gradient), Error::InvalidArgument);
  EXPECT_EQ(step({NAN}, gradient), Error::InvalidArgument);
  EXPECT_EQ(step({1, 0, 0, 0, true}, gradient), Error::InvalidArgument);
  EXPECT_EQ(step({1, 0.5}, gradient), Error::InvalidArgument);  // no memory for directions
  EXPECT_NE(std::string(last_error_message()).find("momentum of 0.5"), std::string::npos);
  gradient.impl.dtype = ScalarType::Double;
  EXPECT_EQ(step({1}, gradient), Error::InvalidArgument);
  parameter.impl.dtype = gradient.impl.dtype = ScalarType::Int;
  EXPECT_EQ(step({1}, gradient), Error::NotSupported);
  EXPECT_EQ(parameter.data[0], 1);
}

}  // namespace
}  // namespace rushlight
