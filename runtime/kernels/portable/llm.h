// Portable kernels of the operators of language models (llama), which ExecuTorch's exporters write into programs:
// caches of keys and values [batch, positions, heads, size], attention over them, and Hadamard transforms. On failure,
// a kernel records an error in `context`.
#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::portable {

// Writes `value` [batch, tokens, heads, size] into the cache, from position `start`. `out` has no meaning.
void update_cache_out(KernelRuntimeContext& context, const Tensor& value, Tensor& cache, int64_t start, Tensor& out);
// Does the same with a position for each token: `indices` is [batch, tokens]. Tokens outside of the cache are ignored.
void update_cache_with_indices_out(KernelRuntimeContext& context, const Tensor& value, Tensor& cache, int64_t start,
                                   const Tensor& indices, Tensor& out);
// Computes the attention of new tokens to positions [0, start + tokens) of the keys and values.
void custom_sdpa_out(KernelRuntimeContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                     int64_t start, const std::optional<Tensor>& mask, double dropout, bool is_causal,
                     std::optional<double> scale, Tensor& out);
// Does both.
void sdpa_with_kv_cache_out(KernelRuntimeContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                            Tensor& key_cache, Tensor& value_cache, int64_t start, int64_t tokens,
                            const std::optional<Tensor>& mask, double dropout, bool is_causal,
                            std::optional<double> scale, Tensor& out);
// Multiplies rows of n elements, a power of two, by the Hadamard matrix divided by sqrt(n).
void fast_hadamard_transform_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);

}  // namespace rushlight::portable
