"""The C functions of Fourier transforms. `generators.spectra` writes their tables."""

from __future__ import annotations

from collections.abc import Mapping

from rushlight.aot_c.helper import Helper

FOURIER_HELPERS: Mapping[str, Helper] = {
    "fourier_combine": Helper(
        """typedef struct {
  double re, im;
} fourier_number;

static fourier_number fourier_product(fourier_number a, fourier_number b) {
  const fourier_number product = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  return product;
}

static fourier_number fourier_sum(fourier_number a, fourier_number b) {
  const fourier_number sum = {a.re + b.re, a.im + b.im};
  return sum;
}

static fourier_number fourier_difference(fourier_number a, fourier_number b) {
  const fourier_number difference = {a.re - b.re, a.im - b.im};
  return difference;
}

/* Combines `radix` transforms of `part` points each. The transform of the whole line has `points` points. */
static void fourier_combine(fourier_number *out, ptrdiff_t radix, ptrdiff_t part, ptrdiff_t stride,
                            const fourier_number *roots, ptrdiff_t points) {
  fourier_number terms[61];
  for (ptrdiff_t k = 0; k < part; ++k) {
    for (ptrdiff_t q = 0; q < radix; ++q) {
      terms[q] = fourier_product(out[q * part + k], roots[q * k * stride]);
    }
    if (radix == 4) {
      const fourier_number a = fourier_sum(terms[0], terms[2]), b = fourier_difference(terms[0], terms[2]);
      const fourier_number c = fourier_sum(terms[1], terms[3]), d = fourier_difference(terms[1], terms[3]);
      const fourier_number rotated = {d.im, -d.re};
      out[k] = fourier_sum(a, c);
      out[part + k] = fourier_sum(b, rotated);
      out[2 * part + k] = fourier_difference(a, c);
      out[3 * part + k] = fourier_difference(b, rotated);
      continue;
    }
    for (ptrdiff_t r = 0; r < radix; ++r) {
      fourier_number sum = terms[0];
      for (ptrdiff_t q = 1; q < radix; ++q) {
        sum = fourier_sum(sum, fourier_product(terms[q], roots[q * r % radix * (points / radix)]));
      }
      out[r * part + k] = sum;
    }
  }
}"""
    ),
    "fourier_step": Helper(
        """/* Transforms n points of a line of `points` points. `radices` ends with 1. */
static void fourier_step(const fourier_number *in, ptrdiff_t stride, fourier_number *out, ptrdiff_t n,
                         const uint8_t *radices, const fourier_number *roots, ptrdiff_t points) {
  const ptrdiff_t radix = *radices, part = n / radix;
  if (n == 1) {
    *out = *in;
    return;
  }
  for (ptrdiff_t q = 0; q < radix; ++q) {
    fourier_step(in + q * stride, stride * radix, out + q * part, part, radices + 1, roots, points);
  }
  fourier_combine(out, radix, part, stride, roots, points);
}""",
        needs=("fourier_combine",),
    ),
    "fourier_transform": Helper(
        """/* The tables of a transform of n points. If `chirp` is not NULL, the transform is a convolution,
 * which needs transforms of `points` points. */
typedef struct {
  ptrdiff_t n, points;
  const uint8_t *radices;
  const fourier_number *roots, *chirp, *chirp_spectrum;
  fourier_number *buffer;
} fourier_plan;

static void fourier_convolve(const fourier_plan *plan, const fourier_number *in, fourier_number *out) {
  const ptrdiff_t n = plan->n, points = plan->points;
  fourier_number *const first = plan->buffer, *const second = plan->buffer + points;
  for (ptrdiff_t k = 0; k < points; ++k) {
    const fourier_number zero = {0, 0};
    first[k] = k < n ? fourier_product(in[k], plan->chirp[k]) : zero;
  }
  fourier_step(first, 1, second, points, plan->radices, plan->roots, points);
  for (ptrdiff_t k = 0; k < points; ++k) {
    first[k] = fourier_product(second[k], plan->chirp_spectrum[k]);
    first[k].im = -first[k].im;
  }
  fourier_step(first, 1, second, points, plan->radices, plan->roots, points);
  for (ptrdiff_t k = 0; k < n; ++k) {
    second[k].im = -second[k].im;
    out[k] = fourier_product(second[k], plan->chirp[k]);
    out[k].re /= (double)points;
    out[k].im /= (double)points;
  }
}

/* The discrete Fourier transform, or its inverse without a scale. `in` is overwritten. */
static void fourier_transform(const fourier_plan *plan, fourier_number *in, fourier_number *out,
                              bool inverse) {
  for (ptrdiff_t k = 0; inverse && k < plan->n; ++k) in[k].im = -in[k].im;
  if (plan->chirp != NULL) {
    fourier_convolve(plan, in, out);
  } else {
    fourier_step(in, 1, out, plan->n, plan->radices, plan->roots, plan->n);
  }
  for (ptrdiff_t k = 0; inverse && k < plan->n; ++k) out[k].im = -out[k].im;
}""",
        needs=("fourier_step",),
    ),
}
