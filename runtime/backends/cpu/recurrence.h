// The recurrence of LSTM and GRU layers in one direction. The inputs are already multiplied by the input weights.
#pragma once

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

// A step that computes all time steps of a layer. A derived class multiplies the states by the recurrent weights.
class RecurrenceStep : public Step {
 public:
  Error prepare() override;
  size_t scratch_floats(int64_t workers) const override;
  Error run(Run& run) override;
  int64_t work() const override { return 2 * out_->sizes[0] * batch() * hidden_ * hidden_ * gates(); }

 protected:
  static constexpr int64_t kUnits = microkernels::kUnits;

  // The states before a time step.
  struct States {
    const float* const* rows;  // of each sequence, [hidden]
    float* copy;               // of `copied_floats()` floats
    int64_t time;
  };

  // Takes the operands that all recurrent operations have. The caller takes the weights.
  template <typename Op>
  void bind_layer(const Op& op, Binder& binder) {
    kernels_ = &binder.kernels();
    is_gru_ = op.is_gru();
    hidden_ = op.hidden();
    is_backward_ = op.is_backward();
    padded_ = round_up(hidden_, kUnits);
    columns_ = padded_ * gates();
    projected_ = binder.input(op.projected());
    bias_ = binder.packed_bias(op.bias(), 1, columns_);
    first_state_ = binder.optional_input(op.first_state());
    first_cell_ = binder.optional_input(op.first_cell());
    out_ = binder.output(op.output());
    state_ = binder.output(op.last_state());
    if (!is_gru_) cell_ = binder.output(op.last_cell());
    zeros_ = padding_pixel(binder, hidden_);
  }

  // The number of rows of `products`, at least `batch()`.
  virtual int64_t product_rows() const { return batch(); }
  // The size of a copy of the states that `multiply` needs.
  virtual int64_t copied_floats() const { return 0; }
  // Writes this copy.
  virtual void copy(const States&) const {}
  // Computes columns [first, last) of products [product_rows(), columns_]: the states times the weights, plus the bias.
  virtual void multiply(const States& states, int64_t first, int64_t last, float* products) const = 0;
  // The same for packed weights [hidden, columns] of floats.
  void multiply_floats(const float* weights, const States& states, int64_t first, int64_t last, float* products) const;

  int64_t gates() const { return is_gru_ ? 3 : 4; }
  int64_t batch() const { return out_->sizes[1]; }

  const microkernels::F32Microkernels* kernels_ = nullptr;
  bool is_gru_ = false;
  int64_t hidden_ = 0;
  int64_t columns_ = 0;  // of all gates; the units are rounded up to whole blocks of kUnits
  const float* bias_ = nullptr;

 private:
  int64_t pointer_floats() const { return round_up(2 * batch(), 16); }
  float* out_row(int64_t t, int64_t b) const { return out_->floats() + t * out_->strides[0] + b * out_->strides[1]; }
  void set_cells(float* cells) const;
  void multiply_row(const float* weights, const States& states, int64_t first, int64_t last, float* products) const;
  void compute_units(const States& states, int64_t begin, int64_t end, float* products, float* cells) const;

  bool is_backward_ = false;
  int64_t padded_ = 0;  // hidden_ rounded up to whole blocks of kUnits
  const View* projected_ = nullptr;
  const View* first_state_ = nullptr;
  const View* first_cell_ = nullptr;
  const View* out_ = nullptr;
  const View* state_ = nullptr;
  const View* cell_ = nullptr;
  const float* zeros_ = nullptr;
};

}  // namespace rushlight::cpu
