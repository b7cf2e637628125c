// Passes of Fourier transforms. Each lane of a vector belongs to a different line.
#pragma once

#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32.h"

namespace rushlight::microkernels::RL_ISA {

struct Complexes {
  Floats re, im;
};

RL_INLINE Complexes operator+(Complexes a, Complexes b) { return {a.re + b.re, a.im + b.im}; }
RL_INLINE Complexes operator-(Complexes a, Complexes b) { return {a.re - b.re, a.im - b.im}; }
// Returns a * -i, where i is the imaginary unit.
RL_INLINE Complexes turned(Complexes a) { return {a.im, -a.re}; }
RL_INLINE Complexes load_complexes(const float* p) { return {load(p), load(p + kWidth)}; }
RL_INLINE void store_complexes(float* p, Complexes v) {
  store(p, v.re);
  store(p + kWidth, v.im);
}
RL_INLINE Complexes times(Complexes a, float re, float im) { return {a.re * re - a.im * im, a.re * im + a.im * re}; }

// Computes one butterfly. Calls put(j, sum) for each row j of the result.
template <typename Put>
RL_INLINE void butterfly_2(const Complexes (&x)[2], const Put& put) {
  put(0, x[0] + x[1]);
  put(1, x[0] - x[1]);
}

template <bool Inverse, typename Put>
RL_INLINE void butterfly_4(const Complexes (&x)[4], const Put& put) {
  const Complexes a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3];
  const Complexes d = turned(Inverse ? x[3] - x[1] : x[1] - x[3]);
  put(0, a + c);
  put(1, b + d);
  put(2, a - c);
  put(3, b - d);
}

// Computes a butterfly of any odd radix.
template <int Most, typename Put>
RL_INLINE void butterfly_odd(const Complexes* x, int radix, const float* roots, const Put& put) {
  Complexes sums[Most / 2 + 1], differences[Most / 2 + 1];
  Complexes all = x[0];
  for (int q = 1; 2 * q < radix; ++q) {
    sums[q] = x[q] + x[radix - q];
    differences[q] = x[q] - x[radix - q];
    all = all + sums[q];
  }
  put(0, all);
  for (int j = 1; 2 * j < radix; ++j) {
    Complexes even = x[0], odd = {};
    for (int q = 1; 2 * q < radix; ++q) {
      const float* const root = roots + 2 * (j * q % radix);
      even = {even.re + sums[q].re * root[0], even.im + sums[q].im * root[0]};
      odd = {odd.re + differences[q].re * root[1], odd.im + differences[q].im * root[1]};
    }
    // i * (the sum of the differences).
    const Complexes turn = {-odd.im, odd.re};
    put(j, even + turn);
    put(radix - j, even - turn);
  }
}

// If Radix is 0, the radix is FftPass::radix, which is odd.
template <int Radix, bool Inverse = false>
RL_INLINE void fft_pass_of(const FftPass& pass, const float* in, float* out) {
  constexpr int kMax = Radix > 0 ? Radix : kMaxFftRadix;
  const int radix = Radix > 0 ? Radix : pass.radix;
  const int64_t row = 2 * kWidth, from_step = pass.stride * pass.parts * row, to_step = pass.stride * row;
  for (int64_t p = 0; p < pass.parts; ++p) {
    const float* const twiddles = pass.twiddles + 2 * p * (radix - 1);
    for (int64_t q = 0; q < pass.stride; ++q) {
      const float* const from = in + (q + pass.stride * p) * row;
      float* const to = out + (q + pass.stride * radix * p) * row;
      Complexes x[kMax];
      x[0] = load_complexes(from);
      for (int k = 1; k < radix; ++k) x[k] = load_complexes(from + k * from_step);
      const auto put = [&](int j, Complexes sum) {
        if (p > 0 && j > 0) sum = times(sum, twiddles[2 * j - 2], twiddles[2 * j - 1]);
        store_complexes(to + j * to_step, sum);
      };
      if constexpr (Radix == 2) {
        butterfly_2(x, put);
      } else if constexpr (Radix == 4) {
        butterfly_4<Inverse>(x, put);
      } else {
        butterfly_odd<kMax>(x, radix, pass.roots, put);
      }
    }
  }
}

static void fft_pass(const FftPass& pass, const float* in, float* out) {
  if (pass.radix == 4) return pass.inverse ? fft_pass_of<4, true>(pass, in, out) : fft_pass_of<4>(pass, in, out);
  if (pass.radix == 2) return fft_pass_of<2>(pass, in, out);
  if (pass.radix == 3) return fft_pass_of<3>(pass, in, out);
  if (pass.radix == 5) return fft_pass_of<5>(pass, in, out);
  fft_pass_of<0>(pass, in, out);
}

// Points k and n - k are computed together, because both need the same two inputs.
static void fft_of_real(int64_t n, const float* roots, float scale, const float* in, float* out) {
  const int64_t row = 2 * kWidth;
  const float half = 0.5f * scale;
  for (int64_t k = 0; 2 * k <= n; ++k) {
    const Complexes a = load_complexes(in + k * row), b = load_complexes(in + (k == 0 ? 0 : n - k) * row);
    const Complexes sum = {half * (a.re + b.re), half * (a.im - b.im)};
    const Complexes difference = {half * (a.re - b.re), half * (a.im + b.im)};
    const Complexes rest = turned(times(difference, roots[2 * k], roots[2 * k + 1]));
    store_complexes(out + k * row, sum + rest);
    store_complexes(out + (n - k) * row, {sum.re - rest.re, rest.im - sum.im});
  }
}

static void fft_to_real(int64_t n, const float* roots, float scale, const float* in, float* out) {
  const int64_t row = 2 * kWidth;
  for (int64_t k = 0; 2 * k <= n; ++k) {
    const Complexes a = load_complexes(in + k * row), b = load_complexes(in + (n - k) * row);
    const Complexes sum = {scale * (a.re + b.re), scale * (a.im - b.im)};
    const Complexes difference = {scale * (a.re - b.re), scale * (a.im + b.im)};
    const Complexes turn = turned(times(difference, roots[2 * k], -roots[2 * k + 1]));
    store_complexes(out + k * row, sum - turn);
    if (k > 0) store_complexes(out + (n - k) * row, {sum.re + turn.re, -(sum.im + turn.im)});
  }
}

}  // namespace rushlight::microkernels::RL_ISA
