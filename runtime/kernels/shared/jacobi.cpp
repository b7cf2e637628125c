// Computes eigenvalues and singular values by rotations of pairs of columns.

#include <cmath>
#include <utility>

#include "kernels/shared/linear_algebra.h"

namespace rushlight {

namespace {

constexpr int kMaxSweeps = 60;
constexpr double kTolerance = 1e-15;

struct Rotation {
  double cosine, sine;
};

// Returns the rotation that makes the off-diagonal element `pq` of a symmetric 2 x 2 matrix zero.
Rotation rotation_of(double pp, double pq, double qq) {
  const double tau = (qq - pp) / (2 * pq);
  const double tangent = std::copysign(1.0, tau) / (std::fabs(tau) + std::sqrt(1 + tau * tau));
  const double cosine = 1 / std::sqrt(1 + tangent * tangent);
  return {cosine, tangent * cosine};
}

void rotate(double& p, double& q, Rotation rotation) {
  const double old = p;
  p = rotation.cosine * old - rotation.sine * q;
  q = rotation.sine * old + rotation.cosine * q;
}

void rotate_columns(double* a, int64_t rows, int64_t columns, int64_t p, int64_t q, Rotation rotation) {
  for (int64_t r = 0; r < rows; ++r) rotate(a[r * columns + p], a[r * columns + q], rotation);
}

void swap_columns(double* a, int64_t rows, int64_t columns, int64_t p, int64_t q) {
  for (int64_t r = 0; r < rows; ++r) std::swap(a[r * columns + p], a[r * columns + q]);
}

void set_identity(double* a, int64_t n) {
  for (int64_t i = 0; i < n * n; ++i) a[i] = i % (n + 1) == 0 ? 1 : 0;
}

}  // namespace

void factor_symmetric(double* a, int64_t n, double* values, double* scratch) {
  double* v = scratch;
  set_identity(v, n);
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool rotated = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const double pq = a[p * n + q];
        if (!(std::fabs(pq) > kTolerance * std::sqrt(std::fabs(a[p * n + p] * a[q * n + q])) &&
              std::fabs(pq) > 1e-300)) {
          continue;
        }
        rotated = true;
        const Rotation rotation = rotation_of(a[p * n + p], pq, a[q * n + q]);
        rotate_columns(a, n, n, p, q, rotation);
        for (int64_t c = 0; c < n; ++c) rotate(a[p * n + c], a[q * n + c], rotation);
        rotate_columns(v, n, n, p, q, rotation);
      }
    }
    if (!rotated) break;
  }
  for (int64_t i = 0; i < n; ++i) values[i] = a[i * n + i];
  for (int64_t i = 0; i < n; ++i) {
    int64_t smallest = i;
    for (int64_t j = i + 1; j < n; ++j) smallest = values[j] < values[smallest] ? j : smallest;
    if (smallest == i) continue;
    std::swap(values[i], values[smallest]);
    swap_columns(v, n, n, i, smallest);
  }
  for (int64_t i = 0; i < n * n; ++i) a[i] = v[i];
}

void factor_singular(double* a, int64_t rows, int64_t columns, double* s, double* v) {
  set_identity(v, columns);
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool rotated = false;
    for (int64_t p = 0; p < columns; ++p) {
      for (int64_t q = p + 1; q < columns; ++q) {
        double pp = 0, pq = 0, qq = 0;
        for (int64_t r = 0; r < rows; ++r) {
          const double x = a[r * columns + p], y = a[r * columns + q];
          pp += x * x;
          pq += x * y;
          qq += y * y;
        }
        if (!(std::fabs(pq) > kTolerance * std::sqrt(pp * qq) && std::fabs(pq) > 1e-300)) continue;
        rotated = true;
        const Rotation rotation = rotation_of(pp, pq, qq);
        rotate_columns(a, rows, columns, p, q, rotation);
        rotate_columns(v, columns, columns, p, q, rotation);
      }
    }
    if (!rotated) break;
  }
  for (int64_t c = 0; c < columns; ++c) {
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) sum += a[r * columns + c] * a[r * columns + c];
    s[c] = std::sqrt(sum);
  }
  for (int64_t i = 0; i < columns; ++i) {
    int64_t largest = i;
    for (int64_t j = i + 1; j < columns; ++j) largest = s[j] > s[largest] ? j : largest;
    if (largest == i) continue;
    std::swap(s[i], s[largest]);
    swap_columns(a, rows, columns, i, largest);
    swap_columns(v, columns, columns, i, largest);
  }
  int64_t known = 0;
  for (int64_t c = 0; c < columns; ++c) {
    if (!(s[c] > s[0] * 1e-14) && s[c] == s[c]) continue;
    known = c + 1;
    for (int64_t r = 0; r < rows; ++r) a[r * columns + c] /= s[c];
  }
  complete_basis(a, rows, columns, known);
}

void complete_basis(double* q, int64_t rows, int64_t columns, int64_t known) {
  for (int64_t c = known; c < columns; ++c) {
    // One of the unit vectors has at least twice this squared distance from the span of the first c columns.
    const double min_square = 0.5 * static_cast<double>(rows - c) / static_cast<double>(rows);
    for (int64_t unit = 0; unit < rows; ++unit) {
      for (int64_t r = 0; r < rows; ++r) q[r * columns + c] = r == unit ? 1 : 0;
      double square = 0;
      for (int pass = 0; pass < 2; ++pass) {
        for (int64_t other = 0; other < c; ++other) {
          double dot = 0;
          for (int64_t r = 0; r < rows; ++r) dot += q[r * columns + other] * q[r * columns + c];
          for (int64_t r = 0; r < rows; ++r) q[r * columns + c] -= dot * q[r * columns + other];
        }
        square = 0;
        for (int64_t r = 0; r < rows; ++r) square += q[r * columns + c] * q[r * columns + c];
        if (pass == 0 && square < min_square) break;
      }
      if (square < min_square) continue;
      for (int64_t r = 0; r < rows; ++r) q[r * columns + c] /= std::sqrt(square);
      break;
    }
  }
}

}  // namespace rushlight
