// Elementary functions of vectors. The polynomials are minimax approximations (Remez algorithm) of the functions that
// the comments name. The errors are the largest that were found over float32 arguments, in units in the last place
// (ulp) of the result. NaN gives NaN.
#pragma once

#include "microkernels/simd/vec.h"

namespace rushlight::microkernels::RL_ISA {

template <int N>
RL_INLINE Floats polynomial(Floats x, const float (&highest_first)[N]) {
  Floats value = splat(highest_first[0]);
  RL_UNROLL for (int i = 1; i < N; ++i) value = value * x + highest_first[i];
  return value;
}

RL_INLINE Floats abs(Floats x) { return as_floats(as_ints(x) & 0x7fffffff); }
// Returns the number with the magnitude of `magnitude` and the sign of `sign`.
RL_INLINE Floats with_sign(Floats magnitude, Floats sign) {
  return as_floats((as_ints(magnitude) & 0x7fffffff) | (as_ints(sign) & static_cast<int32_t>(0x80000000)));
}
RL_INLINE Floats power_of_two(Ints exponent) { return as_floats((exponent + 127) << 23); }

// (e^r - 1 - r) / r for |r| <= log(2) / 2.
RL_INLINE Floats exp_polynomial(Floats r) {
  return polynomial(r, {1.381432055e-03f, 8.368850686e-03f, 4.166840017e-02f, 1.666651964e-01f, 4.999999404e-01f}) * r;
}

// The common part of exp_of_rest() and expm1(). Sets n to the integer nearest to x / log 2, and r to x - n log 2.
// Returns (e^r - 1 - r) / r.
RL_INLINE Floats exp_series(Floats x, Floats* r, Ints* n) {
  // Adding 1.5 * 2^23 rounds to an integer, which is in the low bits of the sum.
  const float magic = 12582912.0f;
  const Floats shifted = x * 1.44269504f + magic;
  *n = as_ints(shifted) - as_ints(splat(magic));
  const Floats whole = shifted - magic;
  *r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  return exp_polynomial(*r);
}

// Sets n to the integer nearest to x / log 2. Returns e^(x - n log 2).
RL_INLINE Floats exp_of_rest(Floats x, Ints* n) {
  Floats r;
  const Floats p = exp_series(x, &r, n);
  return p * r + r + 1.0f;
}

// e^x, 1.03 ulp. Results below the normal range are rounded only once.
RL_INLINE Floats exp(Floats x) {
  Ints n;
  const Floats value = exp_of_rest(at_most(at_least(x, splat(-104.0f)), splat(89.0f)), &n);
  // Two factors are used, because 2^n itself may be out of range.
  const Ints half = n >> 1;
  return value * power_of_two(half) * power_of_two(n - half);
}

// e^x - 1.
RL_INLINE Floats expm1(Floats x) {
  Floats r;
  Ints n;
  const Floats p = exp_series(at_most(at_least(x, splat(-26.0f)), splat(89.0f)), &r, &n);
  // Half of the result is computed, because 2^n may be out of range.
  const Floats scale = power_of_two(n - 1);
  const Floats half = (p * r + r) * scale + (scale - 0.5f);
  // Half of a denormal number may have lost a bit, and -0 its sign.
  return select(abs(x) < 1e-30f, x, half + half);
}

// e^x for x <= 0. Returns 0 if the result is close to the smallest normal number, because arithmetic with denormal
// numbers is slow.
RL_INLINE Floats exp_or_zero(Floats x) {
  const float least = -87.0f;
  Ints n;
  const Floats value = exp_of_rest(at_least(x, splat(least)), &n) * power_of_two(n);
  return select(x < least, Floats{}, value);
}

// 2^x for x <= 0, 1.1 ulp. Returns 0 if the result is close to the smallest normal number.
RL_INLINE Floats exp2_or_zero(Floats x) {
  // x + magic rounds x to an integer n; the low bits of the sum are the exponent bits of 2^n, and 0 for 2^-127.
  const float magic = 12582912.0f + 127.0f;
  const Floats least = at_least(x, splat(-127.0f));
  const Floats shifted = least + magic;
  const Floats r = least - (shifted - magic);
  const Floats scale = as_floats(as_ints(shifted) << 23);
  const Floats p = polynomial(r, {1.535336196e-04f, 1.339887385e-03f, 9.618436918e-03f, 5.550332367e-02f,
                                  2.402264774e-01f, 6.931471825e-01f}) *
                   r;
  return p * scale + scale;
}

// tanh, 1.4 ulp.
RL_INLINE Floats tanh(Floats x) {
  const Floats a = abs(x);
  const Floats z = x * x;
  const Floats small =
      (polynomial(z, {-5.603914615e-03f, 2.055172063e-02f, -5.371410772e-02f, 1.333115250e-01f, -3.333327174e-01f}) *
       z) *
          x +
      x;
  // 1 - 2 / (e^(2 a) + 1), which is 1 from a = 10 on; a clamp to 10 keeps NaN. The low bits of `shifted` are the
  // exponent bits of a power of two; compare exp_series().
  const float magic = 12582912.0f + 127.0f;
  const Floats twice = at_most(a + a, splat(20.0f));
  const Floats shifted = twice * 1.44269504f + magic;
  const Floats whole = shifted - magic;
  const Floats r = (twice - whole * 0.693359375f) + whole * 2.12194440e-4f;
  const Floats exponential = (exp_polynomial(r) * r + r + 1.0f) * as_floats(as_ints(shifted) << 23);
  const Floats magnitude = 1.0f - 2.0f / (exponential + 1.0f);
  const Ints sign = as_ints(x) & static_cast<int32_t>(0x80000000);
  return select(a < 0.625f, small, as_floats(as_ints(magnitude) | sign));
}

// erf, 1.2 ulp.
RL_INLINE Floats erf(Floats x) {
  const Floats a = abs(x);
  const Floats z = x * x;
  const Floats small = polynomial(z, {-5.931882770e-04f, 4.982152954e-03f, -2.675958723e-02f, 1.128164008e-01f,
                                      -3.761247993e-01f, 1.283791512e-01f}) *
                           x +
                       x;
  // 1 - e^(log erfc a). If a is above 3.93, the result is 1.
  const Floats c = at_most(a, splat(3.93f));
  const Floats logarithm = polynomial(c, {-4.977050139e-06f, 4.608568997e-05f, 4.684305168e-05f, -2.922063228e-03f,
                                          2.266015299e-02f, -1.052485481e-01f, -6.356330514e-01f, -1.128549933e+00f});
  const Floats large = with_sign(1.0f - exp(logarithm * c), x);
  return select(a < 0.921875f, small, select(x != x, x, large));
}

// The logarithm of x * (1 - error) to some base, where `error` is a rounding error of x. `unit` is the logarithm of e
// to this base, and high + low * unit is the logarithm of 2. Returns -infinity for 0, and NaN for negative numbers.
RL_INLINE Floats log_to_base(Floats x, Floats error, float high, float low, float unit) {
  const Ints tiny = x < 1.17549435e-38f;
  const Ints ordinary = (x > 0.0f) & (x < __builtin_inff());
  const Floats scaled = select(ordinary, select(tiny, x * 8388608.0f, x), splat(1.0f));
  // x = m * 2^n with m in [sqrt(1/2), sqrt(2)).
  const Ints bits = as_ints(scaled);
  const Ints shifted = bits - 0x3f3504f3;
  const Ints n = (shifted >> 23) - (tiny & 23);
  const Floats f = as_floats((shifted & 0x007fffff) + 0x3f3504f3) - 1.0f;
  const Floats e = __builtin_convertvector(n, Floats);
  const Floats p =
      polynomial(f, {6.746634096e-02f, -1.167564541e-01f, 1.188816205e-01f, -1.240558997e-01f, 1.421955228e-01f,
                     -1.666799635e-01f, 2.000211924e-01f, -2.500000894e-01f, 3.333331347e-01f});
  const Floats z = f * f;
  const Floats tail = z * (p * f - 0.5f) + (e * low - error);
  const Floats value = e * high + (tail + f) * unit;
  const Floats infinity = splat(__builtin_inff());
  const Floats finite = select(x == 0.0f, -infinity, value);
  return select(x < 0.0f, splat(__builtin_nanf("")), select((x == infinity) | (x != x), x, finite));
}

// The natural logarithm, 0.9 ulp.
RL_INLINE Floats log(Floats x) { return log_to_base(x, Floats{}, 0.693359375f, -2.12194440e-4f, 1.0f); }

// The base-2 logarithm. It is exact for powers of two.
RL_INLINE Floats log2(Floats x) { return log_to_base(x, Floats{}, 1.0f, 0.0f, 1.44269504f); }
RL_INLINE Floats log10(Floats x) { return log_to_base(x, Floats{}, 0.301025390625f, 1.060349411e-05f, 0.434294482f); }

// log(1 + x).
RL_INLINE Floats log1p(Floats x) {
  const Floats u = x + 1.0f;
  return select(x == 0.0f, x, log_to_base(u, ((u - 1.0f) - x) / u, 0.693359375f, -2.12194440e-4f, 1.0f));
}

// 1 + e^x, 2.5 ulp. It is infinite if x is 88.4 or more.
RL_INLINE Floats one_and_exp(Floats x) {
  x = at_most(at_least(x, splat(-88.0f)), splat(89.0f));
  // As in exp_of_rest(), with 127 added, so that the low bits are the exponent bits of 2^n.
  const float magic = 12582912.0f + 127.0f;
  const Floats shifted = x * 1.44269504f + magic;
  const Floats scale = as_floats(as_ints(shifted) << 23);
  const Floats whole = shifted - magic;
  const Floats r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  const Floats p =
      polynomial(r, {8.290306665e-03f, 4.189797491e-02f, 1.666763723e-01f, 4.999915063e-01f, 9.999997020e-01f, 1.0f});
  return p * scale + 1.0f;
}

// 1 / (1 + e^-x), 3.5 ulp if the result is a normal number.
RL_INLINE Floats sigmoid(Floats x) { return 1.0f / one_and_exp(-x); }

// x / (1 + e^-x), 3.5 ulp if the result is a normal number.
RL_INLINE Floats silu(Floats x) { return x / one_and_exp(-x); }

// x times the cumulative normal distribution of x; the error is 2e-7 of max(1, |x|). The distribution minus 1/2 is
// x P(x^2) / Q(x^2), a minimax fit with an absolute error of 4e-9 for |x| <= 5.3. Beyond, it is clamped to 1/2.
RL_INLINE Floats gelu(Floats x) {
  const Floats c = at_most(at_least(x, splat(-5.7f)), splat(5.7f));
  const Floats z = c * c;
  const Floats p = polynomial(
      z, {2.409659672e-08f, 6.371953987e-06f, 1.595868816e-04f, 4.623547662e-03f, 3.286463395e-02f, 3.989422619e-01f});
  const Floats q =
      polynomial(z, {1.237974857e-06f, 7.110025763e-05f, 1.832413487e-03f, 2.809783071e-02f, 2.490457594e-01f, 1.0f});
  return x * at_most(at_least(c * p / q + 0.5f, Floats{}), splat(1.0f));
}

// The tanh approximation of GELU (Hendrycks and Gimpel, 2016), computed with (1 + tanh u) / 2 = 1 / (1 + e^-2u).
RL_INLINE Floats gelu_tanh(Floats x) { return x / one_and_exp(-1.59576912160573072f * (x + 0.044715f * (x * x * x))); }

// sin or cos, 1.6 ulp.
template <bool IsCosine>
RL_INLINE Floats sine_or_cosine(Floats x) {
  // For larger arguments, the products below are not exact.
  const float most = 12800.0f;
  if (__builtin_expect(any(abs(x) > most), 0)) {
    Floats value = x;
    for (int i = 0; i < kWidth; ++i) value[i] = IsCosine ? __builtin_cosf(x[i]) : __builtin_sinf(x[i]);
    return value;
  }
  // As in exp_of_rest(), rounds to the number of quarter turns. The magnitude of the rest is at most pi / 4.
  const float magic = 12582912.0f;
  const Floats shifted = x * 0.636619772f + magic;
  const Floats whole = shifted - magic;
  const Ints quarters = as_ints(shifted) + (IsCosine ? 1 : 0);
  // pi / 2 in four parts. All parts except the last have at most 11 bits, so that products with numbers of 13 bits are
  // exact.
  const float third = 7.5495336204767227e-08f, fourth = 2.5633440682570896e-12f;
  const Floats a = (x - whole * 1.5703125f) - whole * 4.8375129699707031e-04f;
  const Floats b = a - whole * third;
  const Floats r = b + (((a - b) - whole * third) - whole * fourth);
  const Floats z = r * r;
  const Floats s = polynomial(z, {-1.951495797e-04f, 8.332158439e-03f, -1.666665524e-01f}) * (z * r) + r;
  const Floats c = polynomial(z, {2.443278572e-05f, -1.388731296e-03f, 4.166664556e-02f}) * (z * z) + (1.0f - 0.5f * z);
  const Floats value = as_floats(as_ints(select(-(quarters & 1), c, s)) ^ ((quarters & 2) << 30));
  return IsCosine ? value : select(x == 0.0f, x, value);
}
RL_INLINE Floats sin(Floats x) { return sine_or_cosine<false>(x); }
RL_INLINE Floats cos(Floats x) { return sine_or_cosine<true>(x); }

// The angle of the point (x, y), in [-pi, pi].
RL_ONCE_STATIC Floats atan2(Floats y, Floats x) {
  const Floats ay = abs(y), ax = abs(x);
  const Ints is_steep = ay > ax;
  // The arguments are scaled so that their sum is finite.
  const Floats scale = select((ay > 1e37f) | (ax > 1e37f), splat(0.25f), splat(1.0f));
  const Floats most = select(is_steep, ay, ax) * scale, least = select(is_steep, ax, ay) * scale;
  // q is the tangent of the angle, measured from 0 or from pi / 4, whichever is closer. For two infinities the angle is
  // pi / 4, for two zeros 0.
  const Ints is_equal = (least == most) & (most > 0.0f);
  const Ints is_middle = (least > 0.414213562f * most) | is_equal;
  const Floats above = select(is_equal, Floats{}, select(is_middle, least - most, least));
  const Floats q = above / select(is_equal | (most == 0.0f), splat(1.0f), select(is_middle, least + most, most));
  const Floats z = q * q;
  const Floats rest =
      polynomial(z, {8.060308961e-02f, -1.387984999e-01f, 1.997792608e-01f, -3.333295525e-01f}) * (z * q) + q;
  const Ints is_left = as_ints(x) >> 31;
  const Floats angle = select(is_middle, rest + 0.785398163f, rest);
  const Floats steep = select(is_steep, (1.57079637f - angle) - 4.37113883e-8f, angle);
  const Floats value = select(is_left, (3.14159274f - steep) - 8.74227766e-8f, steep);
  return select((x != x) | (y != y), x + y, with_sign(value, y));
}

// log(1 + e^(p x)) / p, or x where p x > q.
RL_INLINE Floats softplus(Floats x, Floats p, Floats q) {
  const Floats scaled = x * p;
  return select(scaled > q, x, log1p(exp(scaled)) / p);
}

// x tanh(log(1 + e^x)). The tanh is n / (n + 2) with n = e^x (e^x + 2), and 1 from x = 9.1 on.
RL_INLINE Floats mish(Floats x) {
  const Floats e = exp(at_most(x, splat(30.0f)));
  const Floats n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

// Rounds |x| < 2^23 to the nearest integer, ties to even. Larger floats are integers.
RL_INLINE Floats rounded_magnitude(Floats x) { return (abs(x) + 8388608.0f) - 8388608.0f; }
// Returns `value`, an integer near x, with the sign of x if |x| < 2^23; else x.
RL_INLINE Floats integer_of(Floats x, Floats value) { return select(abs(x) < 8388608.0f, with_sign(value, x), x); }
RL_INLINE Floats one_where(Ints mask) { return as_floats(mask & as_ints(splat(1.0f))); }

RL_INLINE Floats round(Floats x) { return integer_of(x, rounded_magnitude(x)); }
RL_INLINE Floats trunc(Floats x) {
  const Floats r = rounded_magnitude(x);
  return integer_of(x, r - one_where(r > abs(x)));
}
RL_INLINE Floats floor(Floats x) {
  const Floats r = with_sign(rounded_magnitude(x), x);
  return integer_of(x, r - one_where(r > x));
}
RL_INLINE Floats ceil(Floats x) {
  const Floats r = with_sign(rounded_magnitude(x), x);
  return integer_of(x, r + one_where(r < x));
}
// Returns 1, -1 or 0; 0 for NaN.
RL_INLINE Floats sign(Floats x) { return one_where(x > 0.0f) - one_where(x < 0.0f); }

RL_INLINE Floats sqrt(Floats x) {
#if defined(__AVX2__) && RL_WIDTH == 8 && !defined(__clang__)  // later releases of Clang do not have this builtin
  return __builtin_ia32_sqrtps256(x);
#elif defined(__SSE2__) && RL_WIDTH == 4 && !defined(__clang__)
  return __builtin_ia32_sqrtps(x);
#else
  Floats value;
  RL_UNROLL for (int i = 0; i < kWidth; ++i) value[i] = __builtin_sqrtf(x[i]);
  return value;
#endif
}

}  // namespace rushlight::microkernels::RL_ISA
