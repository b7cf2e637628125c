#pragma once

#include <cstdint>

namespace rushlight {

// Row-major matrices in double. Sizes are in elements; what is changed is so in place.

// P a = L U with partial pivoting (Golub and Van Loan, Matrix Computations, 3.4): U above the diagonal and on it, the
// unit L below. Row i was exchanged with row pivots[i] - 1, i < min(rows, columns). Gives the position, from 1, of the
// first pivot that is zero, else 0.
int64_t factor_lu(double* a, int64_t rows, int64_t columns, int32_t* pivots);
// Without exchanges.
int64_t factor_lu_in_order(double* a, int64_t rows, int64_t columns, int32_t* pivots);

// Solves a x = b for the n x k right-hand sides b, of a's factors.
void solve_lu(const double* lu, const int32_t* pivots, int64_t n, double* b, int64_t k);
// Solves a^T x = b.
void solve_lu_transposed(const double* lu, const int32_t* pivots, int64_t n, double* b, int64_t k);

// Solves a x = b where a's upper or lower triangle counts alone, its diagonal as ones if `unit`.
void solve_triangle(const double* a, int64_t n, bool upper, bool unit, double* b, int64_t k);

// a = L L^T of the lower triangle; above the diagonal a becomes zero. Gives the order, from 1, of the first minor that
// is not positive, else 0.
int64_t factor_cholesky(double* a, int64_t n);

// Householder reflections (as LAPACK's geqrf lays them out): R on and above the diagonal, below it the vectors, whose
// first element is 1, and min(rows, columns) factors.
void factor_qr(double* a, int64_t rows, int64_t columns, double* factors);
// The first `columns` columns of the product of `count` reflections, of factored rows x `stride` matrix a, into q.
void form_q(const double* a, int64_t rows, int64_t stride, const double* factors, int64_t count, double* q,
            int64_t columns);

// Eigenvalues of the symmetric n x n matrix a in ascending order; a becomes its eigenvectors, as columns. `scratch` has
// n x n elements. By Jacobi rotations (Golub and Van Loan, 8.5).
void factor_symmetric(double* a, int64_t n, double* values, double* scratch);

// a = u diag(s) v^T, rows >= columns, s descending: a becomes u, v has columns x columns elements. By one-sided Jacobi
// rotations (Golub and Van Loan, 8.6.3).
void factor_singular(double* a, int64_t rows, int64_t columns, double* s, double* v);

// Makes the columns from `known` on of a rows x columns matrix orthonormal to those before and to each other.
void complete_basis(double* q, int64_t rows, int64_t columns, int64_t known);

// c = a b of a rows x inner and an inner x columns matrix.
void multiply(const double* a, const double* b, int64_t rows, int64_t inner, int64_t columns, double* c);

}  // namespace rushlight
