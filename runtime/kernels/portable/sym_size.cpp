#include "kernels/portable/prim.h"
#include "kernels/shared/axes.h"

namespace rushlight::portable {

void sym_size_int(KernelRuntimeContext& context, const Tensor& in, int64_t dim, EValue& out) {
  int64_t axis;
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "a zero-dim tensor has no sizes");
  if (normalize_dim(context, dim, in.dim(), &axis)) out = EValue(static_cast<int64_t>(in.size(axis)));
}

void sym_stride_int(KernelRuntimeContext& context, const Tensor& in, int64_t dim, EValue& out) {
  int64_t axis;
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "a zero-dim tensor has no strides");
  if (normalize_dim(context, dim, in.dim(), &axis)) out = EValue(static_cast<int64_t>(in.stride(axis)));
}

void sym_numel(KernelRuntimeContext& context, const Tensor& in, EValue& out) {
  (void)context;
  out = EValue(static_cast<int64_t>(in.numel()));
}

void sym_storage_offset(KernelRuntimeContext& context, const Tensor& in, EValue& out) {
  (void)context;
  (void)in;
  out = EValue(int64_t{0});
}

}  // namespace rushlight::portable
