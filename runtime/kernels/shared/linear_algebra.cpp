#include "kernels/shared/linear_algebra.h"

#include <cmath>
#include <utility>

namespace rushlight {

namespace {

void swap_rows(double* a, int64_t columns, int64_t i, int64_t j) {
  if (i == j) return;
  for (int64_t c = 0; c < columns; ++c) std::swap(a[i * columns + c], a[j * columns + c]);
}

int64_t eliminate(double* a, int64_t rows, int64_t columns, int32_t* pivots, bool exchanges) {
  const int64_t n = rows < columns ? rows : columns;
  int64_t zero = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t pivot = i;
    for (int64_t r = i + 1; exchanges && r < rows; ++r) {
      if (std::fabs(a[r * columns + i]) > std::fabs(a[pivot * columns + i])) pivot = r;
    }
    pivots[i] = static_cast<int32_t>(pivot + 1);
    swap_rows(a, columns, i, pivot);
    const double* top = a + i * columns;
    if (top[i] == 0) {
      if (zero == 0) zero = i + 1;
      continue;
    }
    for (int64_t r = i + 1; r < rows; ++r) {
      double* row = a + r * columns;
      row[i] /= top[i];
      for (int64_t c = i + 1; c < columns; ++c) row[c] -= row[i] * top[c];
    }
  }
  return zero;
}

}  // namespace

int64_t factor_lu(double* a, int64_t rows, int64_t columns, int32_t* pivots) {
  return eliminate(a, rows, columns, pivots, true);
}

int64_t factor_lu_in_order(double* a, int64_t rows, int64_t columns, int32_t* pivots) {
  return eliminate(a, rows, columns, pivots, false);
}

void solve_lu(const double* lu, const int32_t* pivots, int64_t n, double* b, int64_t k) {
  for (int64_t i = 0; i < n; ++i) swap_rows(b, k, i, pivots[i] - 1);
  solve_triangle(lu, n, false, true, b, k);
  solve_triangle(lu, n, true, false, b, k);
}

void solve_lu_transposed(const double* lu, const int32_t* pivots, int64_t n, double* b, int64_t k) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      double sum = b[i * k + j];
      for (int64_t r = 0; r < i; ++r) sum -= lu[r * n + i] * b[r * k + j];
      b[i * k + j] = sum / lu[i * n + i];
    }
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t j = 0; j < k; ++j) {
      double sum = b[i * k + j];
      for (int64_t r = i + 1; r < n; ++r) sum -= lu[r * n + i] * b[r * k + j];
      b[i * k + j] = sum;
    }
  }
  for (int64_t i = n - 1; i >= 0; --i) swap_rows(b, k, i, pivots[i] - 1);
}

void solve_triangle(const double* a, int64_t n, bool upper, bool unit, double* b, int64_t k) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = upper ? n - 1 - step : step;
    double* row = b + i * k;
    for (int64_t r = upper ? i + 1 : 0; r < (upper ? n : i); ++r) {
      const double factor = a[i * n + r];
      for (int64_t j = 0; j < k; ++j) row[j] -= factor * b[r * k + j];
    }
    for (int64_t j = 0; !unit && j < k; ++j) row[j] /= a[i * n + i];
  }
}

int64_t factor_cholesky(double* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (int64_t r = 0; r < j; ++r) sum -= a[i * n + r] * a[j * n + r];
      if (i == j) {
        if (!(sum > 0)) return i + 1;
        a[i * n + i] = std::sqrt(sum);
      } else {
        a[i * n + j] = sum / a[j * n + j];
      }
    }
    for (int64_t j = i + 1; j < n; ++j) a[i * n + j] = 0;
  }
  return 0;
}

void factor_qr(double* a, int64_t rows, int64_t columns, double* factors) {
  for (int64_t i = 0; i < rows && i < columns; ++i) {
    double below = 0;
    for (int64_t r = i + 1; r < rows; ++r) below += a[r * columns + i] * a[r * columns + i];
    const double alpha = a[i * columns + i];
    if (below == 0) {
      factors[i] = 0;
      continue;
    }
    const double beta = -std::copysign(std::sqrt(alpha * alpha + below), alpha);
    factors[i] = (beta - alpha) / beta;
    for (int64_t r = i + 1; r < rows; ++r) a[r * columns + i] /= alpha - beta;
    a[i * columns + i] = beta;
    for (int64_t c = i + 1; c < columns; ++c) {
      double sum = a[i * columns + c];
      for (int64_t r = i + 1; r < rows; ++r) sum += a[r * columns + i] * a[r * columns + c];
      sum *= factors[i];
      a[i * columns + c] -= sum;
      for (int64_t r = i + 1; r < rows; ++r) a[r * columns + c] -= sum * a[r * columns + i];
    }
  }
}

void form_q(const double* a, int64_t rows, int64_t stride, const double* factors, int64_t count, double* q,
            int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) q[r * columns + c] = r == c ? 1 : 0;
  }
  for (int64_t i = count - 1; i >= 0; --i) {
    for (int64_t c = 0; c < columns; ++c) {
      double sum = q[i * columns + c];
      for (int64_t r = i + 1; r < rows; ++r) sum += a[r * stride + i] * q[r * columns + c];
      sum *= factors[i];
      q[i * columns + c] -= sum;
      for (int64_t r = i + 1; r < rows; ++r) q[r * columns + c] -= sum * a[r * stride + i];
    }
  }
}

void multiply(const double* a, const double* b, int64_t rows, int64_t inner, int64_t columns, double* c) {
  for (int64_t i = 0; i < rows; ++i) {
    double* row = c + i * columns;
    for (int64_t j = 0; j < columns; ++j) row[j] = 0;
    for (int64_t r = 0; r < inner; ++r) {
      for (int64_t j = 0; j < columns; ++j) row[j] += a[i * inner + r] * b[r * columns + j];
    }
  }
}

}  // namespace rushlight
