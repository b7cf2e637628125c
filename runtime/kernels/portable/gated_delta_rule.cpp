#include <algorithm>
#include <initializer_list>

#include "core/move_bytes.h"
#include "kernels/portable/llm.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {
namespace {

bool has_shape(const Tensor& tensor, std::initializer_list<int64_t> sizes) {
  return tensor.dim() == static_cast<int64_t>(sizes.size()) && is_contiguous_dim_order(tensor.dim_order()) &&
         std::equal(sizes.begin(), sizes.end(), tensor.sizes().begin());
}

// Adds factor * from to `to`.
void add_row(float* to, const float* from, float factor, int64_t size) {
  for (int64_t i = 0; i < size; ++i) to[i] += factor * from[i];
}

// Writes the product of a row [rows] and a matrix [rows, columns] to `out` [columns].
void multiply(float* out, const float* row, const float* matrix, int64_t rows, int64_t columns) {
  std::fill(out, out + columns, 0.0f);
  for (int64_t i = 0; i < rows; ++i) add_row(out, matrix + i * columns, row[i], columns);
}

}  // namespace

void gated_delta_rule_out(KernelRuntimeContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                          const Tensor& decay, const Tensor& beta, const Tensor& initial_state, Tensor& out,
                          Tensor& final_state_out) {
  bool fits = query.dim() == 4 && key.dim() == 4 && value.dim() == 4 && key.size(1) > 0 &&
              query.size(1) % key.size(1) == 0 && query.size(1) > 0;
  const int64_t batch = fits ? key.size(0) : 0, heads = fits ? key.size(1) : 0, tokens = fits ? key.size(2) : 0;
  const int64_t rows = fits ? key.size(3) : 0, columns = fits ? value.size(3) : 0;
  const bool decays_rows = decay.dim() == 4;
  fits = fits && has_shape(query, {batch, query.size(1), tokens, rows}) &&
         has_shape(key, {batch, heads, tokens, rows}) && has_shape(value, {batch, heads, tokens, columns}) &&
         has_shape(beta, {batch, heads, tokens}) &&
         (decays_rows ? has_shape(decay, {batch, heads, tokens, rows}) : has_shape(decay, {batch, heads, tokens})) &&
         has_shape(initial_state, {batch, heads, rows, columns});
  RL_KERNEL_REQUIRE(context, fits, InvalidArgument,
                    "the gated delta rule needs a query [batch, heads, tokens, key size], a key [batch, state heads, "
                    "tokens, key size], a value, a decay and a beta of the same tokens, and a state");
  if (!resize_out(context, out, {batch, query.size(1), tokens, columns}) ||
      !resize_out_like(context, final_state_out, initial_state)) {
    return;
  }
  if (initial_state.numel() > 0) {
    move_bytes(final_state_out.mutable_data_ptr(), initial_state.const_data_ptr(), initial_state.nbytes());
  }
  const int64_t group = query.size(1) / heads;
  for (int64_t at = 0; at < batch * heads * tokens; ++at) {
    const int64_t head = at / tokens, token = at % tokens;
    float* state = final_state_out.mutable_data_ptr<float>() + head * rows * columns;
    const float* factors = decay.const_data_ptr<float>() + (decays_rows ? at * rows : at);
    for (int64_t i = 0; i < rows * columns; ++i) state[i] *= factors[decays_rows ? i / columns : 0];
    // The first row of the output is scratch memory for the change of the value.
    const auto out_row = [&](int64_t i) {
      return out.mutable_data_ptr<float>() + ((head * group + i) * tokens + token) * columns;
    };
    float* change = out_row(0);
    const float* key_row = key.const_data_ptr<float>() + at * rows;
    multiply(change, key_row, state, rows, columns);
    const float* wanted = value.const_data_ptr<float>() + at * columns;
    const float rate = beta.const_data_ptr<float>()[at];
    for (int64_t i = 0; i < columns; ++i) change[i] = (wanted[i] - change[i]) * rate;
    for (int64_t i = 0; i < rows; ++i) add_row(state + i * columns, change, key_row[i], columns);
    for (int64_t i = 0; i < group; ++i) {
      multiply(out_row(i), query.const_data_ptr<float>() + ((head * group + i) * tokens + token) * rows, state, rows,
               columns);
    }
  }
}

}  // namespace rushlight::portable
