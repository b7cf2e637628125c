#pragma once

#include <cstdint>

namespace rushlight::optimized {

// The number of elements that a WideFunction computes.
inline constexpr int64_t kWideBlock = 64;

// A function of float32 numbers that is computed in float64: x[i] = f(x[i]) or x[i] = f(x[i], y[i]) for kWideBlock
// elements. The elements are float32 numbers. If the result is rounded to float32, its error is at most 0.51 units in
// the last place.
using WideFunction = void (*)(double* x, const double* y);

// Whether the processor has the instructions that the functions use.
bool has_wide_functions();

void wide_acos(double* x, const double*);
void wide_asin(double* x, const double*);
void wide_atan(double* x, const double*);
void wide_atanh(double* x, const double*);
void wide_cosh(double* x, const double*);
void wide_erfc(double* x, const double*);
void wide_erfcx(double* x, const double*);
void wide_erfinv(double* x, const double*);
void wide_exp2(double* x, const double*);
void wide_hypot(double* x, const double* y);
void wide_logaddexp(double* x, const double* y);
void wide_logaddexp2(double* x, const double* y);
void wide_pow(double* x, const double* y);
void wide_sinh(double* x, const double*);
void wide_tan(double* x, const double*);

}  // namespace rushlight::optimized
