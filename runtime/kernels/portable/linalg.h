// Portable kernels of operators on matrices of float32 and float64, computed in double. A kernel has the arguments of
// its operator's out variant, checks them, sets the shapes of the results and computes the values of eager PyTorch. On
// failure it records an error in `context`. It also fails if a matrix has no result, for example the inverse of a
// singular matrix; eager PyTorch reports this in `info`, which is always zero here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::portable {

void cholesky_inverse_out(KernelRuntimeContext& context, const Tensor& factor, bool upper, Tensor& out);
void cholesky_solve_out(KernelRuntimeContext& context, const Tensor& b, const Tensor& factor, bool upper, Tensor& out);
void linalg_cholesky_ex_l(KernelRuntimeContext& context, const Tensor& in, bool upper, bool check_errors, Tensor& l,
                          Tensor& info);
void linalg_det_result(KernelRuntimeContext& context, const Tensor& in, Tensor& out, Tensor& lu, Tensor& pivots);
void linalg_eigh_eigenvalues(KernelRuntimeContext& context, const Tensor& in, std::string_view triangle, bool vectors,
                             Tensor& values, Tensor& out);
void linalg_inv_ex_inverse(KernelRuntimeContext& context, const Tensor& in, bool check_errors, Tensor& out,
                           Tensor& info);
void linalg_lu_factor_ex_out(KernelRuntimeContext& context, const Tensor& in, bool pivot, bool check_errors, Tensor& lu,
                             Tensor& pivots, Tensor& info);
void linalg_lu_out(KernelRuntimeContext& context, const Tensor& in, bool pivot, Tensor& p, Tensor& l, Tensor& u);
void linalg_lu_solve_out(KernelRuntimeContext& context, const Tensor& lu, const Tensor& pivots, const Tensor& b,
                         bool left, bool adjoint, Tensor& out);
void linalg_matrix_exp_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
void linalg_qr_out(KernelRuntimeContext& context, const Tensor& in, std::string_view mode, Tensor& q, Tensor& r);
void linalg_slogdet_sign(KernelRuntimeContext& context, const Tensor& in, Tensor& sign, Tensor& logabsdet, Tensor& lu,
                         Tensor& pivots);
void linalg_solve_ex_result(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, bool left,
                            bool check_errors, Tensor& out, Tensor& lu, Tensor& pivots, Tensor& info);
void linalg_solve_triangular_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, bool upper, bool left,
                                 bool unit, Tensor& out);
void linalg_svd_u(KernelRuntimeContext& context, const Tensor& in, bool full, bool vectors,
                  std::optional<std::string_view> driver, Tensor& u, Tensor& s, Tensor& vh);
void triangular_solve_x(KernelRuntimeContext& context, const Tensor& b, const Tensor& a, bool upper, bool transpose,
                        bool unit, Tensor& x, Tensor& m);

}  // namespace rushlight::portable
