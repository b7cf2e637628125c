// Kernels of the operators on numbers and sizes that the compiler inserts (executorch_prim). On failure, a kernel
// records an error in `context`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::portable {

void prim_add(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_sub(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_mul(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_floordiv(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_truediv(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_mod(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_pow(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_neg(KernelRuntimeContext& context, const Scalar& a, EValue& out);
void prim_eq(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_ne(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_lt(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_le(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_gt(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_ge(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_sym_max(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_sym_min(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out);
void prim_ceil(KernelRuntimeContext& context, const Scalar& a, EValue& out);
void prim_round(KernelRuntimeContext& context, const Scalar& a, EValue& out);
void prim_trunc(KernelRuntimeContext& context, const Scalar& a, EValue& out);
void prim_sym_int(KernelRuntimeContext& context, const Scalar& a, EValue& out);
void prim_sym_float(KernelRuntimeContext& context, const Scalar& a, EValue& out);
void prim_sym_not(KernelRuntimeContext& context, const Scalar& a, EValue& out);
void prim_sym_ite(KernelRuntimeContext& context, const Scalar& condition, const Scalar& when_true,
                  const Scalar& when_false, EValue& out);
void sym_size_int(KernelRuntimeContext& context, const Tensor& in, int64_t dim, EValue& out);
void sym_stride_int(KernelRuntimeContext& context, const Tensor& in, int64_t dim, EValue& out);
void sym_numel(KernelRuntimeContext& context, const Tensor& in, EValue& out);
void sym_storage_offset(KernelRuntimeContext& context, const Tensor& in, EValue& out);
void local_scalar_dense(KernelRuntimeContext& context, const Tensor& in, EValue& out);
void et_view(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> sizes, Tensor& out);
void et_copy_index(KernelRuntimeContext& context, Tensor& to, const Tensor& from, int64_t index);

}  // namespace rushlight::portable
