#pragma once

#include <cstdint>

namespace rushlight {

// Matrices are row-major and in double. Sizes and strides are in elements. The functions change matrices in place.

// Factors P a = L U with partial pivoting (Golub and Van Loan, Matrix Computations, 3.4). U replaces a on and above the
// diagonal, L (whose diagonal is 1) replaces a below it. Row i was exchanged with row pivots[i] - 1, i < min(rows,
// columns). Returns the position, counted from 1, of the first pivot that is zero, or 0 if there is none.
int64_t factor_lu(double* a, int64_t rows, int64_t columns, int32_t* pivots);
// Does the same without row exchanges.
int64_t factor_lu_in_order(double* a, int64_t rows, int64_t columns, int32_t* pivots);

// Solves a x = b for the n x k right-hand sides b, given the factors of a.
void solve_lu(const double* lu, const int32_t* pivots, int64_t n, double* b, int64_t k);
// Solves a^T x = b, given the factors of a.
void solve_lu_transposed(const double* lu, const int32_t* pivots, int64_t n, double* b, int64_t k);

// Solves a x = b. Only the upper or lower triangle of a is read. With `unit`, the diagonal of a is treated as ones.
void solve_triangle(const double* a, int64_t n, bool upper, bool unit, double* b, int64_t k);

// Factors a = L L^T; only the lower triangle of a is read. L replaces a, with zeros above its diagonal. Returns the
// order, counted from 1, of the first leading minor that is not positive, or 0 if there is none.
int64_t factor_cholesky(double* a, int64_t n);

// Computes Householder reflections in the layout of LAPACK's geqrf: R is on and above the diagonal. The vectors are
// below the diagonal; their first element, 1, is not stored. There are min(rows, columns) factors.
void factor_qr(double* a, int64_t rows, int64_t columns, double* factors);
// Writes the first `columns` columns of the product of `count` reflections to q. The factored matrix a is rows x
// `stride`.
void form_q(const double* a, int64_t rows, int64_t stride, const double* factors, int64_t count, double* q,
            int64_t columns);

// Computes the eigenvalues of the symmetric n x n matrix a, in ascending order, by Jacobi rotations (Golub and Van
// Loan, 8.5). The eigenvectors replace a as columns. `scratch` has n x n elements.
void factor_symmetric(double* a, int64_t n, double* values, double* scratch);

// Factors a = u diag(s) v^T by one-sided Jacobi rotations (Golub and Van Loan, 8.6.3). `rows` is at least `columns`, s
// is descending, u replaces a, and v has columns x columns elements.
void factor_singular(double* a, int64_t rows, int64_t columns, double* s, double* v);

// Replaces the columns from `known` on of a rows x columns matrix, so that all columns are orthonormal.
void complete_basis(double* q, int64_t rows, int64_t columns, int64_t known);

// Computes c = a b of a rows x inner and an inner x columns matrix.
void multiply(const double* a, const double* b, int64_t rows, int64_t inner, int64_t columns, double* c);

}  // namespace rushlight
