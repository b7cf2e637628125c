#include "core/move_bytes.h"
#include "kernels/portable/llm.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {
namespace {

bool require_cache(KernelRuntimeContext& context, const Tensor& value, const Tensor& cache) {
  bool fits = value.dim() == 4 && cache.dim() == 4 && value.scalar_type() == cache.scalar_type() &&
              is_contiguous_dim_order(value.dim_order()) && is_contiguous_dim_order(cache.dim_order());
  for (const int64_t dim : {0, 2, 3}) fits = fits && value.size(dim) == cache.size(dim);
  if (!fits) {
    context.fail(Error::InvalidArgument,
                 "new values and their cache need 4 dimensions, and may differ only in dimension 1");
  }
  return fits;
}

// Copies `count` tokens of a batch entry, from token `first` of the value to a position of the cache.
void copy_tokens(const Tensor& value, const Tensor& cache, int64_t batch, int64_t first, int64_t position,
                 int64_t count) {
  const int64_t token = value.stride(1) * static_cast<int64_t>(value.element_size());
  move_bytes(static_cast<uint8_t*>(cache.mutable_data_ptr()) + (batch * cache.size(1) + position) * token,
             static_cast<const uint8_t*>(value.const_data_ptr()) + (batch * value.size(1) + first) * token,
             static_cast<size_t>(count * token));
}

}  // namespace

void update_cache_out(KernelRuntimeContext& context, const Tensor& value, Tensor& cache, int64_t start, Tensor&) {
  if (!require_cache(context, value, cache)) return;
  const int64_t tokens = value.size(1);
  RL_KERNEL_REQUIRE(context, start >= 0 && tokens <= cache.size(1) && start <= cache.size(1) - tokens, InvalidArgument,
                    "%lld tokens from position %lld exceed a cache of %lld positions", static_cast<long long>(tokens),
                    static_cast<long long>(start), static_cast<long long>(cache.size(1)));
  if (value.numel() == 0) return;
  for (int64_t b = 0; b < value.size(0); ++b) copy_tokens(value, cache, b, 0, start, tokens);
}

void update_cache_with_indices_out(KernelRuntimeContext& context, const Tensor& value, Tensor& cache, int64_t,
                                   const Tensor& indices, Tensor&) {
  if (!require_cache(context, value, cache)) return;
  RL_KERNEL_REQUIRE(context,
                    indices.dim() == 2 && indices.size(0) == value.size(0) && indices.size(1) == value.size(1) &&
                        is_contiguous_dim_order(indices.dim_order()),
                    InvalidArgument, "indices must have a position for each token");
  if (value.numel() == 0) return;
  const int64_t* position = indices.const_data_ptr<int64_t>();
  for (int64_t b = 0; b < value.size(0); ++b) {
    for (int64_t token = 0; token < value.size(1); ++token, ++position) {
      if (*position >= 0 && *position < cache.size(1)) copy_tokens(value, cache, b, token, *position, 1);
    }
  }
}

}  // namespace rushlight::portable
