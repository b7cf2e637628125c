// LSTM and GRU layers with weights of floats.
#include "backends/cpu/recurrence.h"

namespace rushlight::cpu {

namespace {

class RecurrentStep final : public RecurrenceStep {
 public:
  Error bind(const schema::Recurrent& op, Binder& binder) {
    bind_layer(op, binder);
    weights_ = binder.packed_f32(op.weight(), 1, hidden_, columns_);
    return binder.error();
  }

  const char* name() const override { return is_gru_ ? "GRU" : "LSTM"; }

 private:
  void multiply(const States& states, int64_t first, int64_t last, float* products) const override {
    multiply_floats(weights_, states, first, last, products);
  }

  const float* weights_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Recurrent& op, Binder& binder) { return binder.bind<RecurrentStep>(op); }

}  // namespace rushlight::cpu
