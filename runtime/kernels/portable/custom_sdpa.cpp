#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/portable/llm.h"
#include "kernels/shared/matmul.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {
namespace {

constexpr int64_t kBlock = 32;  // The number of tokens whose scores are in scratch memory at the same time.

// Replaces scores by exp(score - maximum) / sum. A row without finite scores becomes zero.
void softmax(float* scores, int64_t count) {
  const float maximum = *std::max_element(scores, scores + count);
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = maximum == -std::numeric_limits<float>::infinity() ? 0 : std::exp(scores[i] - maximum);
    sum += scores[i];
  }
  for (int64_t i = 0; i < count && sum != 0; ++i) scores[i] /= sum;
}

// The numbers of the three tensors, which may themselves be quantized.
struct Elements {
  float* query;
  float* key;
  float* value;
};

// `dim` is the dimension of tokens and positions, 1 or 2; the heads are in the other one.
bool require_attention(KernelRuntimeContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                       int64_t start, const std::optional<Tensor>& mask, int dim) {
  bool fits = query.dim() == 4 && key.dim() == 4 && value.dim() == 4;
  for (const Tensor& tensor : {query, key, value}) fits = fits && is_contiguous_dim_order(tensor.dim_order());
  fits = fits && key.size(0) == query.size(0) && key.size(3) == query.size(3) && key.size(3 - dim) > 0 &&
         query.size(3 - dim) % key.size(3 - dim) == 0;
  for (int64_t i = 0; fits && i < 4; ++i) fits = value.size(i) == key.size(i);
  fits = fits && start >= 0 && query.size(dim) <= key.size(dim) && start <= key.size(dim) - query.size(dim);
  if (fits && mask) {
    fits = mask->dim() == 2 && mask->size(0) == query.size(dim) && mask->size(1) >= start + query.size(dim) &&
           is_contiguous_dim_order(mask->dim_order());
  }
  if (!fits) {
    context.fail(Error::InvalidArgument,
                 "attention needs a query [batch, tokens, heads, size], keys and values [batch, positions, key heads, "
                 "size] and a mask [tokens, positions]");
  }
  return fits;
}

// Computes the attention of tensors that have the required shapes.
void attend(KernelRuntimeContext& context, const Tensor& query, const Tensor& key, const Elements& elements,
            int64_t start, const std::optional<Tensor>& mask, bool is_causal, std::optional<double> scale, int dim,
            Tensor& out) {
  if (!resize_out_like(context, out, query) || query.numel() == 0) return;
  const int64_t tokens = query.size(dim), heads = query.size(3 - dim), size = query.size(3), positions = start + tokens;
  auto* scores = context.allocate_temporary_array<float>(static_cast<size_t>(std::min(tokens, kBlock) * positions));
  if (!scores) return;
  for (int64_t row = 0; row < query.size(0) * heads; ++row) {
    const int64_t batch = row / heads, head = row % heads, key_head = head / (heads / key.size(3 - dim));
    const int64_t first = batch * query.stride(0) + head * query.stride(3 - dim);
    const int64_t of_key = batch * key.stride(0) + key_head * key.stride(3 - dim);
    for (int64_t token = 0; token < tokens && !context.failed(); token += kBlock) {
      const int64_t at_token = first + token * query.stride(dim);
      MatmulProblem problem;
      problem.rows = std::min(kBlock, tokens - token);
      problem.columns = positions;
      problem.depth = size;
      problem.a = {elements.query + at_token, 0, query.stride(dim), 1};
      problem.b = {elements.key + of_key, 0, 1, key.stride(dim)};
      problem.out = {scores, 0, positions, 1};
      problem.alpha = scale.value_or(1 / std::sqrt(static_cast<double>(size)));
      matmul(context, ScalarType::Float, problem);
      for (int64_t i = 0; i < problem.rows; ++i) {
        float* of_token = scores + i * positions;
        if (mask) {
          const float* added = mask->const_data_ptr<float>() + (token + i) * mask->size(1);
          for (int64_t j = 0; j < positions; ++j) of_token[j] += added[j];
        }
        const int64_t seen = is_causal ? start + token + i + 1 : positions;
        softmax(of_token, seen);
        std::fill(of_token + seen, of_token + positions, 0.0f);
      }
      problem.columns = size;
      problem.depth = positions;
      problem.a = problem.out;
      problem.b = {elements.value + of_key, 0, key.stride(dim), 1};
      problem.out = {out.mutable_data_ptr<float>() + at_token, 0, query.stride(dim), 1};
      problem.alpha = 1;
      matmul(context, ScalarType::Float, problem);
    }
  }
}

// Returns (quantized - zero point) * scale in temporary memory, with one scale for each row; nullptr on failure.
float* dequantize(KernelRuntimeContext& context, const Tensor& tensor, const std::optional<Tensor>& zero_points,
                  const std::optional<Tensor>& scales) {
  const int64_t size = tensor.size(3);
  if (!zero_points || !scales || zero_points->numel() * size != tensor.numel() ||
      scales->numel() * size != tensor.numel()) {
    context.fail(Error::InvalidArgument, "quantized attention needs a scale and a zero point for each token and head");
    return nullptr;
  }
  auto* values = context.allocate_temporary_array<float>(static_cast<size_t>(tensor.numel()));
  const int8_t* from = tensor.const_data_ptr<int8_t>();
  for (int64_t i = 0; values && i < tensor.numel(); ++i) {
    const int64_t row = i / size;
    values[i] =
        static_cast<float>(from[i] - zero_points->const_data_ptr<int8_t>()[row]) * scales->const_data_ptr<float>()[row];
  }
  return values;
}

}  // namespace

void custom_sdpa_out(KernelRuntimeContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                     int64_t start, const std::optional<Tensor>& mask, double dropout, bool is_causal,
                     std::optional<double> scale, Tensor& out) {
  RL_KERNEL_REQUIRE(context, dropout == 0, InvalidArgument, "attention has no dropout");
  if (!require_attention(context, query, key, value, start, mask, 1)) return;
  const Elements elements{query.mutable_data_ptr<float>(), key.mutable_data_ptr<float>(),
                          value.mutable_data_ptr<float>()};
  attend(context, query, key, elements, start, mask, is_causal, scale, 1, out);
}

void custom_quantized_sdpa_out(KernelRuntimeContext& context, const Tensor& query, const Tensor& key,
                               const Tensor& value, int64_t start, const std::optional<Tensor>& mask, double dropout,
                               bool is_causal, std::optional<double> scale, const std::optional<Tensor>& q_zero_points,
                               const std::optional<Tensor>& q_scales, const std::optional<Tensor>& k_zero_points,
                               const std::optional<Tensor>& k_scales, const std::optional<Tensor>& v_zero_points,
                               const std::optional<Tensor>& v_scales, bool is_seq_at_dim_2, Tensor& out) {
  const int dim = is_seq_at_dim_2 ? 2 : 1;
  RL_KERNEL_REQUIRE(context, dropout == 0, InvalidArgument, "attention has no dropout");
  if (!require_attention(context, query, key, value, start, mask, dim)) return;
  const Elements elements{dequantize(context, query, q_zero_points, q_scales),
                          dequantize(context, key, k_zero_points, k_scales),
                          dequantize(context, value, v_zero_points, v_scales)};
  if (!context.failed()) attend(context, query, key, elements, start, mask, is_causal, scale, dim, out);
}

void sdpa_with_kv_cache_out(KernelRuntimeContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                            Tensor& key_cache, Tensor& value_cache, int64_t start, int64_t tokens,
                            const std::optional<Tensor>& mask, double dropout, bool is_causal,
                            std::optional<double> scale, Tensor& out) {
  RL_KERNEL_REQUIRE(context, query.dim() == 4 && query.size(1) == tokens, InvalidArgument,
                    "the query must have %lld tokens", static_cast<long long>(tokens));
  update_cache_out(context, key, key_cache, start, out);
  if (!context.failed()) update_cache_out(context, value, value_cache, start, out);
  if (!context.failed()) {
    custom_sdpa_out(context, query, key_cache, value_cache, start, mask, dropout, is_causal, scale, out);
  }
}

}  // namespace rushlight::portable
