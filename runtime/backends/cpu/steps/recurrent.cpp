// LSTM and GRU layers in one direction. The inputs of this step are already multiplied by the input weights.
#include <cstring>
#include <numeric>

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kUnits = microkernels::kUnits;

class RecurrentStep final : public Step {
 public:
  Error bind(const schema::Recurrent& op, Binder& binder) {
    kernels_ = &binder.kernels();
    is_gru_ = op.is_gru();
    hidden_ = op.hidden();
    is_backward_ = op.is_backward();
    padded_ = round_up(hidden_, kUnits);
    columns_ = padded_ * gates();
    projected_ = binder.input(op.projected());
    weights_ = binder.packed_f32(op.weight(), 1, hidden_, columns_);
    bias_ = binder.packed_bias(op.bias(), 1, columns_);
    first_state_ = binder.optional_input(op.first_state());
    first_cell_ = binder.optional_input(op.first_cell());
    out_ = binder.output(op.output());
    state_ = binder.output(op.last_state());
    if (!is_gru_) cell_ = binder.output(op.last_cell());
    zeros_ = padding_pixel(binder, hidden_);
    return binder.error();
  }

  Error prepare() override {
    const View &in = *projected_, &out = *out_;
    bool fits = in.rank == 3 && out.rank == 3 && in.sizes[0] == out.sizes[0] && in.sizes[1] == out.sizes[1] &&
                in.sizes[2] == columns_ && out.sizes[2] == hidden_ && in.strides[2] == 1 &&
                (hidden_ == 1 || out.strides[2] == 1);
    for (const View* view : {first_state_, first_cell_, state_, cell_}) {
      fits = fits && (view == nullptr || (view->rank == 2 && view->sizes[0] == out.sizes[1] &&
                                          view->sizes[1] == hidden_ && (hidden_ == 1 || view->strides[1] == 1)));
    }
    RL_REQUIRE(fits, InvalidProgram, "the shapes or strides of the operands of a recurrent layer do not match");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t) const override {
    return static_cast<size_t>(batch() * (columns_ + padded_) + pointer_floats());
  }

  Error run(Run& run) override {
    if (batch() == 0) return Error::Ok;
    const float** rows = reinterpret_cast<const float**>(run.scratch);
    float* gates = run.scratch + pointer_floats();
    float* cells = gates + batch() * columns_;
    if (!is_gru_) set_cells(cells);
    for (int64_t b = 0; b < batch(); ++b) rows[b] = first_state_ ? row(*first_state_, b) : zeros_;
    // Each worker computes units that fill whole panels.
    const int64_t share = std::lcm(kUnits * this->gates(), packing_of(*kernels_).panel) / (kUnits * this->gates());
    const int64_t shares = divide_up(padded_ / kUnits, share);
    const int64_t workers = batch() * hidden_ * columns_ < 2 * kSerialWork ? 1 : run.workers;
    const int64_t steps = out_->sizes[0];
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = is_backward_ ? steps - 1 - i : i;
      for_workers(run.context, workers, shares, [&](int64_t, int64_t begin, int64_t end) {
        compute_units(t, begin * share * kUnits, std::min(end * share * kUnits, padded_), rows, gates, cells);
      });
      for (int64_t b = 0; b < batch(); ++b) rows[b] = out_row(t, b);
    }
    const size_t bytes = static_cast<size_t>(hidden_) * sizeof(float);
    for (int64_t b = 0; b < batch(); ++b) {
      std::memmove(row(*state_, b), rows[b], bytes);
      if (cell_) std::memcpy(row(*cell_, b), cells + b * padded_, bytes);
    }
    return Error::Ok;
  }

  const char* name() const override { return is_gru_ ? "GRU" : "LSTM"; }
  int64_t work() const override { return 2 * out_->sizes[0] * batch() * hidden_ * hidden_ * gates(); }

 private:
  int64_t gates() const { return is_gru_ ? 3 : 4; }
  int64_t batch() const { return out_->sizes[1]; }
  int64_t pointer_floats() const { return round_up(2 * batch(), 16); }
  static float* row(const View& view, int64_t b) { return view.floats() + b * view.strides[0]; }
  float* out_row(int64_t t, int64_t b) const { return out_->floats() + t * out_->strides[0] + b * out_->strides[1]; }

  // Sets the cells [batch, padded_] to the first cell state, or to zeros.
  void set_cells(float* cells) const {
    std::memset(cells, 0, static_cast<size_t>(batch() * padded_) * sizeof(float));
    if (first_cell_ == nullptr) return;
    for (int64_t b = 0; b < batch(); ++b) {
      std::memcpy(cells + b * padded_, row(*first_cell_, b), static_cast<size_t>(hidden_) * sizeof(float));
    }
  }

  // Computes units [begin, end) of time step t. `rows` are the previous states of the sequences.
  void compute_units(int64_t t, int64_t begin, int64_t end, const float* const* rows, float* gates,
                     float* cells) const {
    const int64_t first = begin * this->gates(), last = end * this->gates();
    if (batch() == 1) {
      multiply_row(rows[0], first, last, t % 2 != 0, gates);
    } else {
      microkernels::Panels product{};
      product.kernels = kernels_;
      product.halves = microkernels::f32_half_microkernels(*kernels_);
      product.rows = rows;
      product.row_step = product.m = batch();
      product.taps = 1;
      product.k = hidden_;
      product.n = columns_;
      product.b = weights_;
      product.bias = bias_;
      product.c = gates;
      product.c_step = columns_;
      const int64_t panel = packing_of(*kernels_).panel;
      microkernels::multiply(product, first / panel, divide_up(last, panel));
    }
    microkernels::RecurrentCell cell{};
    cell.units = std::min(end, hidden_) - begin;
    for (int64_t b = 0; b < batch(); ++b) {
      cell.gates = gates + b * columns_ + first;
      cell.projected = projected_->floats() + t * projected_->strides[0] + b * projected_->strides[1] + first;
      cell.previous = rows[b] + begin;
      cell.cell = cells + b * padded_ + begin;
      cell.out = out_row(t, b) + begin;
      is_gru_ ? kernels_->packed->gru(cell) : kernels_->packed->lstm(cell);
    }
  }

  // Computes columns [first, last) of the gates of one sequence. Every second time step reads the weights in reverse
  // order, so that some weights are still in the cache if not all of them fit into it.
  void multiply_row(const float* state, int64_t first, int64_t last, bool from_end, float* gates) const {
    const int64_t chunk = 4 * packing_of(*kernels_).panel, chunks = divide_up(last - first, chunk);
    for (int64_t i = 0; i < chunks; ++i) {
      const int64_t begin = first + (from_end ? chunks - 1 - i : i) * chunk, end = std::min(begin + chunk, last);
      kernels_->packed->row(state, hidden_, weights_ + begin * hidden_, bias_ ? bias_ + begin : nullptr, gates + begin,
                            end - begin, false, microkernels::Epilogue{});
    }
  }

  const microkernels::F32Microkernels* kernels_ = nullptr;
  bool is_gru_ = false;
  bool is_backward_ = false;
  int64_t hidden_ = 0;
  int64_t padded_ = 0;   // hidden_ rounded up to whole blocks of kUnits
  int64_t columns_ = 0;  // total columns of all gates
  const View* projected_ = nullptr;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  const View* first_state_ = nullptr;
  const View* first_cell_ = nullptr;
  const View* out_ = nullptr;
  const View* state_ = nullptr;
  const View* cell_ = nullptr;
  const float* zeros_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Recurrent& op, Binder& binder) { return binder.bind<RecurrentStep>(op); }

}  // namespace rushlight::cpu
