// LSTM and GRU layers with int8 or int4 weights, which have a scale for each group of numbers.
#include "backends/cpu/recurrence.h"
#include "backends/cpu/scaled_rows.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kColumns = 64;  // columns that are computed together
// Weights that need at most this many bytes as floats are converted to floats when the program is loaded, because they
// stay in the cache. So are the weights of more than kFewSequences sequences.
constexpr int64_t kCachedBytes = 2 * 1024 * 1024, kFewSequences = 4;

class WeightOnlyRecurrentStep final : public RecurrenceStep {
 public:
  Error bind(const schema::WeightOnlyRecurrent& op, Binder& binder) {
    bind_layer(op, binder);
    const GroupedShape shape{op.bits(), hidden_, columns_, op.group()};
    RL_TRY(bind_grouped(binder, op.weight(), op.weight_scale(), shape, matrix_));
    const bool is_cached = hidden_ * columns_ <= kCachedBytes / static_cast<int64_t>(sizeof(float));
    if (is_cached || batch() > kFewSequences) floats_ = packed_floats(binder, matrix_, columns_);
    return binder.error();
  }

  const char* name() const override {
    if (is_gru_) return matrix_.is_int4 ? "GRU with int4 weights" : "GRU with int8 weights";
    return matrix_.is_int4 ? "LSTM with int4 weights" : "LSTM with int8 weights";
  }

 private:
  ScaledRows rows() const { return {matrix_, batch()}; }
  int64_t product_rows() const override { return floats_ ? batch() : rows().padded_rows(); }
  int64_t copied_floats() const override { return floats_ ? 0 : rows().padded_rows() * hidden_; }

  void copy(const States& states) const override {
    if (floats_) return;
    const int64_t stride = batch() > 1 ? states.rows[1] - states.rows[0] : hidden_;
    rows().pack(states.rows[0], stride, states.copy);
  }

  void multiply(const States& states, int64_t first, int64_t last, float* products) const override {
    if (floats_) return multiply_floats(floats_, states, first, last, products);
    for (int64_t j = first; j < last; j += kColumns) {
      const int64_t n = std::min(kColumns, last - j);
      for (int64_t b = 0; b < product_rows(); ++b) {
        float* const sums = products + b * columns_ + j;
        bias_ ? std::copy_n(bias_ + j, n, sums) : std::fill_n(sums, n, 0.0f);
      }
      rows().add_products(states.copy, j, n, products + j, columns_);
    }
  }

  microkernels::GroupedMatrix matrix_{};
  const float* floats_ = nullptr;  // the matrix as floats; may be null
};

}  // namespace

Result<Step*> make_step(const schema::WeightOnlyRecurrent& op, Binder& binder) {
  return binder.bind<WeightOnlyRecurrentStep>(op);
}

}  // namespace rushlight::cpu
