// The definitions of wide_functions.h, for the instruction set of the file that includes this header.
//
// The polynomials interpolate functions at Chebyshev nodes, with relative errors below 1e-9. The loops have a constant
// number of iterations, so that a compiler vectorizes them without a rest.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/optimized/wide_functions.h"

namespace rushlight::optimized {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kHalfPi = 1.5707963267948966;
constexpr double kLog2e = 1.4426950408889634;
// 1.5 * 2^52. A number plus this is rounded to an integer, which is in the low bits of the sum.
constexpr double kRounding = 6755399441055744.0;

inline uint64_t bits_of(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(x));
  return bits;
}
inline double number_of(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// The even and the odd powers have sums of their own, which the processor computes at the same time.
template <int N>
inline double polynomial(double x, const double (&highest_first)[N]) {
  const double z = x * x;
  double sum = highest_first[0], next = highest_first[1];
#pragma GCC unroll 20
  for (int i = 2; i + 1 < N; i += 2) {
    sum = sum * z + highest_first[i];
    next = next * z + highest_first[i + 1];
  }
  const double value = sum * x + next;
  return N % 2 == 0 ? value : value * x + highest_first[N - 1];
}

inline double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

// 2^x. Numbers whose result is out of the range of float32 are clamped to such a result.
inline double exp2(double x) {
  const double t = clamp(x, -400, 400);
  const double shifted = t + kRounding;
  const double r = t - (shifted - kRounding);
  const double p =
      polynomial(r, {1.5303700711365693e-05, 0.00015469729214118296, 0.0013333478473685416, 0.009618025613318034,
                     0.055504109063258665, 0.24022651213498092, 0.6931471805568324, 0.9999999999595618});
  return p * number_of((bits_of(shifted) << 52) + (uint64_t(1023) << 52));
}
inline double exp(double x) { return exp2(x * kLog2e); }

// x = m * 2^n with m in [sqrt(1/2), sqrt(2)), for positive normal numbers. Returns log m.
inline double log_of_rest(double x, double* n) {
  constexpr uint64_t kOne = uint64_t(1023) << 52, kLeast = 0x3fe6a09e667f3bcd, kMantissa = (uint64_t(1) << 52) - 1;
  const uint64_t shifted = bits_of(x) + (kOne - kLeast);
  // The exponent becomes the low bits of 2^52.
  *n = number_of((shifted >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023);
  const double f = number_of((shifted & kMantissa) + kLeast) - 1;
  const double s = f / (f + 2), z = s * s;
  return s * polynomial(z, {0.196082353787879, 0.2217424066085398, 0.28572166357462264, 0.39999994889888124,
                            0.6666666667958537, 1.9999999999999472});
}
inline double log(double x) {
  double n;
  const double rest = log_of_rest(x, &n);
  return rest + n * 0.6931471805599453;
}
inline double log2(double x) {
  double n;
  const double rest = log_of_rest(x, &n);
  return rest * kLog2e + n;
}

// asin for 0 <= r <= sqrt(1/2).
inline double asin_of_small(double r, double z) {
  return r + r * z *
                 polynomial(z, {0.02930523970533579, 0.0054431851027481075, 0.019306260869368045, 0.022132443623426794,
                                0.030397634130580702, 0.044642358484883196, 0.07500000598829049, 0.16666666665495086});
}

// For |x| > 1/2 these functions use asin x = pi / 2 - 2 asin sqrt((1 - x) / 2).
inline double asin(double x) {
  const double a = std::abs(x);
  const bool is_large = a > 0.5;
  const double z = is_large ? (1 - a) * 0.5 : a * a;
  const double small = asin_of_small(is_large ? std::sqrt(z) : a, z);
  return std::copysign(is_large ? kHalfPi - 2 * small : small, x);
}
inline double acos(double x) {
  const double a = std::abs(x);
  const bool is_large = a > 0.5;
  const double z = is_large ? (1 - a) * 0.5 : a * a;
  const double small = asin_of_small(is_large ? std::sqrt(z) : a, z);
  const double angle = is_large ? 2 * small : kHalfPi - small;
  return x < 0 ? 2 * kHalfPi - angle : angle;
}

// For |x| > 1, atan x = pi / 2 - atan(1 / x).
inline double atan(double x) {
  const double a = std::abs(x);
  const double r = a > 1 ? 1 / a : a;
  const double angle =
      r * polynomial(r * r, {-0.0006633954571104787, 0.00473248419342192, -0.015828322749149415, 0.033826218952786875,
                             -0.05395668057137172, 0.07228278345377252, -0.08974171958363882, 0.11091922963683302,
                             -0.14283813255743194, 0.19999901102171555, -0.3333333129088999, 0.9999999999293037});
  return std::copysign(a > 1 ? kHalfPi - angle : angle, x);
}

inline double atanh(double x) {
  const double a = std::abs(x);
  const double value = a < 1e-4 ? a + a * a * a * (1.0 / 3) : 0.5 * log((1 + a) / (1 - a));
  const double beyond = a == 1 ? kInfinity : kNaN;
  return std::copysign(a < 1 ? value : beyond, x);
}

inline double cosh(double x) {
  const double e = exp(x);
  return 0.5 * (e + 1 / e);
}
inline double sinh(double x) {
  const double e = exp(x), z = x * x;
  const double small =
      x + x * z * polynomial(z, {1.0 / 6227020800, 1.0 / 39916800, 1.0 / 362880, 1.0 / 5040, 1.0 / 120, 1.0 / 6});
  return z < 1 ? small : 0.5 * (e - 1 / e);
}

// e^(x^2) erfc x for x >= 0: (1 + 2 x) times this is a polynomial of (x - 3) / (x + 3).
inline double scaled_erfc(double x) {
  const double p = polynomial(
      1 - 6 / (x + 3),
      {-1.1481641468961008e-05, 3.858826870501334e-06, 0.00011462995701111817, -0.00010412154102442731,
       -0.000773109938915649, 0.0018881023957935195, 0.0025271155205983213, -0.02377032914854471, 0.06830839969281499,
       -0.11927369264668239, 0.12964513564845567, -0.0475622925783465, -0.13562110588976525, 1.253008058251719});
  return p / (1 + 2 * x);
}
inline double erfc(double x) {
  const double a = std::abs(x);
  const double value = scaled_erfc(a) * exp(-a * a);
  return x < 0 ? 2 - value : value;
}
inline double erfcx(double x) {
  const double a = std::abs(x);
  const double value = scaled_erfc(a);
  return x < 0 ? 2 * exp(a * a) - value : value;
}

// erfinv x / x is a polynomial of (w - 12) / (w + 12), where w is -log(1 - x^2).
inline double erfinv(double x) {
  const double a = std::abs(x);
  const double w = -log((1 - a) * (1 + a));
  const double p =
      polynomial(1 - 24 / (w + 12),
                 {-0.21112790417794625, -2.4779317859150196, -11.359630203685613, -27.71836582287872,
                  -40.024546649015626, -35.45580530936531, -19.53192692553155, -6.752642451736082, -0.6223054869112995,
                  1.444519641792702, 0.9462845696661368, 0.841123549262714, 1.3851577248991978, 1.1161765901815162,
                  1.3981826137307736, 1.69381536514086, 1.7864864205539126, 3.4887845814025886, 3.299327123892424});
  const double beyond = a == 1 ? std::copysign(kInfinity, x) : kNaN;
  return a < 1 ? x * p : beyond;
}

// For larger arguments, the products of tan() are not exact.
constexpr double kMostForTan = 1e6;

inline double tan(double x) {
  const double quarters = (x * (1 / kHalfPi) + kRounding) - kRounding;
  const bool is_odd = quarters != ((quarters * 0.5 + kRounding) - kRounding) * 2;
  // pi / 2 in two parts. The first has 33 bits.
  const double r = (x - quarters * 1.5707963267341256) - quarters * 6.077100506506192e-11;
  const double z = r * r;
  const double s = r * polynomial(z, {-2.4805636241834762e-08, 2.755599092956532e-06, -0.00019841266916985966,
                                      0.008333333331079223, -0.16666666666663885, 1});
  const double c = polynomial(z, {-2.7237140418016e-07, 2.4799862190148396e-05, -0.00138888850913992,
                                  0.04166666663739607, -0.4999999999996389, 1});
  return (is_odd ? -c : s) / (is_odd ? s : c);
}

inline double hypot(double x, double y) {
  const double value = std::sqrt(x * x + y * y);
  return std::abs(x) == kInfinity || std::abs(y) == kInfinity ? kInfinity : value;
}

// log(1 + x) and log2(1 + x) for 0 <= x <= 1 or NaN.
inline double log1p(double x) {
  const double value = x < 1e-5 ? x - 0.5 * x * x : log(1 + x);
  return x <= 1 ? value : x;
}
inline double log2p1(double x) {
  const double value = x < 1e-5 ? (x - 0.5 * x * x) * kLog2e : log2(1 + x);
  return x <= 1 ? value : x;
}

inline double logaddexp(double x, double y) {
  const double value = (x > y ? x : y) + log1p(exp(-std::abs(x - y)));
  return x == y && std::abs(x) == kInfinity ? x : value;
}
inline double logaddexp2(double x, double y) {
  const double value = (x > y ? x : y) + log2p1(exp2(-std::abs(x - y)));
  return x == y && std::abs(x) == kInfinity ? x : value;
}

// For positive finite x and finite y.
inline double pow(double x, double y) { return exp2(y * log2(x)); }

template <typename Function>
inline void map_block(double* x, const Function& f) {
  for (int64_t i = 0; i < kWideBlock; ++i) x[i] = f(x[i]);
}
template <typename Function>
inline void map_block(double* __restrict x, const double* __restrict y, const Function& f) {
  for (int64_t i = 0; i < kWideBlock; ++i) x[i] = f(x[i], y[i]);
}

}  // namespace

void wide_acos(double* x, const double*) {
  map_block(x, [](double v) { return acos(v); });
}
void wide_asin(double* x, const double*) {
  map_block(x, [](double v) { return asin(v); });
}
void wide_atan(double* x, const double*) {
  map_block(x, [](double v) { return atan(v); });
}
void wide_atanh(double* x, const double*) {
  map_block(x, [](double v) { return atanh(v); });
}
void wide_cosh(double* x, const double*) {
  map_block(x, [](double v) { return cosh(v); });
}
void wide_erfc(double* x, const double*) {
  map_block(x, [](double v) { return erfc(v); });
}
void wide_erfcx(double* x, const double*) {
  map_block(x, [](double v) { return erfcx(v); });
}
void wide_erfinv(double* x, const double*) {
  map_block(x, [](double v) { return erfinv(v); });
}
void wide_exp2(double* x, const double*) {
  map_block(x, [](double v) { return exp2(v); });
}
void wide_sinh(double* x, const double*) {
  map_block(x, [](double v) { return sinh(v); });
}

void wide_tan(double* x, const double*) {
  double given[kWideBlock];
  std::memcpy(given, x, sizeof(given));
  map_block(x, [](double v) { return tan(v); });
  for (int64_t i = 0; i < kWideBlock; ++i) {
    if (!(std::abs(given[i]) <= kMostForTan)) x[i] = std::tan(given[i]);
  }
}

void wide_hypot(double* x, const double* y) {
  map_block(x, y, [](double u, double v) { return hypot(u, v); });
}
void wide_logaddexp(double* x, const double* y) {
  map_block(x, y, [](double u, double v) { return logaddexp(u, v); });
}
void wide_logaddexp2(double* x, const double* y) {
  map_block(x, y, [](double u, double v) { return logaddexp2(u, v); });
}

void wide_pow(double* x, const double* y) {
  double given[kWideBlock];
  std::memcpy(given, x, sizeof(given));
  map_block(x, y, [](double u, double v) { return pow(u, v); });
  for (int64_t i = 0; i < kWideBlock; ++i) {
    const bool is_usual = given[i] > 0 && given[i] < kInfinity && std::abs(y[i]) < kInfinity;
    if (!is_usual) x[i] = std::pow(given[i], y[i]);
  }
}

}  // namespace rushlight::optimized
