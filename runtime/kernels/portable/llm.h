// Portable kernels of the operators of language models (llama), which ExecuTorch's exporters write into programs:
// caches of keys and values [batch, positions, heads, size], attention over them, Hadamard transforms, and tiles of
// images (preprocess). On failure, a kernel records an error in `context`.
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
// Does the same with int8 tensors, which have a zero point and a scale for each token and head. With `is_seq_at_dim_2`,
// all tensors are [batch, heads, tokens, size].
void custom_quantized_sdpa_out(KernelRuntimeContext& context, const Tensor& query, const Tensor& key,
                               const Tensor& value, int64_t start, const std::optional<Tensor>& mask, double dropout,
                               bool is_causal, std::optional<double> scale, const std::optional<Tensor>& q_zero_points,
                               const std::optional<Tensor>& q_scales, const std::optional<Tensor>& k_zero_points,
                               const std::optional<Tensor>& k_scales, const std::optional<Tensor>& v_zero_points,
                               const std::optional<Tensor>& v_scales, bool is_seq_at_dim_2, Tensor& out);
// Updates both caches and computes the attention over them.
void sdpa_with_kv_cache_out(KernelRuntimeContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                            Tensor& key_cache, Tensor& value_cache, int64_t start, int64_t tokens,
                            const std::optional<Tensor>& mask, double dropout, bool is_causal,
                            std::optional<double> scale, Tensor& out);
// Multiplies rows of n or 28 n elements, n a power of two, by a Hadamard matrix divided by sqrt(n).
void fast_hadamard_transform_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out);
// Updates a state [batch, state heads, key size, value size] with one token after the other: state *= decay, then
// state += key * beta (value - key state); the output is query state. The decay has one factor for each token and head,
// or for each row of the state.
void gated_delta_rule_out(KernelRuntimeContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                          const Tensor& decay, const Tensor& beta, const Tensor& initial_state, Tensor& out,
                          Tensor& final_state_out);
// Divides an image [channels, height, width] into tiles [tiles, channels, size, size], row by row.
void tile_crop_out(KernelRuntimeContext& context, const Tensor& in, int64_t size, Tensor& out);

}  // namespace rushlight::portable
