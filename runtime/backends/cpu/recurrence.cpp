#include "backends/cpu/recurrence.h"

#include <cstring>
#include <numeric>

namespace rushlight::cpu {

namespace {

float* row(const View& view, int64_t b) { return view.floats() + b * view.strides[0]; }

}  // namespace

Error RecurrenceStep::prepare() {
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

size_t RecurrenceStep::scratch_floats(int64_t) const {
  return static_cast<size_t>(pointer_floats() + product_rows() * columns_ + batch() * padded_ + copied_floats());
}

Error RecurrenceStep::run(Run& run) {
  if (batch() == 0) return Error::Ok;
  const float** rows = reinterpret_cast<const float**>(run.scratch);
  float* products = run.scratch + pointer_floats();
  float* cells = products + product_rows() * columns_;
  if (!is_gru_) set_cells(cells);
  for (int64_t b = 0; b < batch(); ++b) rows[b] = first_state_ ? row(*first_state_, b) : zeros_;
  // Each worker computes units that fill whole panels.
  const int64_t share = std::lcm(kUnits * gates(), packing_of(*kernels_).panel) / (kUnits * gates());
  const int64_t shares = divide_up(padded_ / kUnits, share);
  const int64_t workers = batch() * hidden_ * columns_ < 2 * kSerialWork ? 1 : run.workers;
  const int64_t steps = out_->sizes[0];
  for (int64_t i = 0; i < steps; ++i) {
    const States states{rows, cells + batch() * padded_, is_backward_ ? steps - 1 - i : i};
    copy(states);
    for_workers(run.context, workers, shares, [&](int64_t, int64_t begin, int64_t end) {
      compute_units(states, begin * share * kUnits, std::min(end * share * kUnits, padded_), products, cells);
    });
    for (int64_t b = 0; b < batch(); ++b) rows[b] = out_row(states.time, b);
  }
  const size_t bytes = static_cast<size_t>(hidden_) * sizeof(float);
  for (int64_t b = 0; b < batch(); ++b) {
    std::memmove(row(*state_, b), rows[b], bytes);
    if (cell_) std::memcpy(row(*cell_, b), cells + b * padded_, bytes);
  }
  return Error::Ok;
}

// Sets the cells [batch, padded_] to the first cell state, or to zeros.
void RecurrenceStep::set_cells(float* cells) const {
  std::memset(cells, 0, static_cast<size_t>(batch() * padded_) * sizeof(float));
  if (first_cell_ == nullptr) return;
  for (int64_t b = 0; b < batch(); ++b) {
    std::memcpy(cells + b * padded_, row(*first_cell_, b), static_cast<size_t>(hidden_) * sizeof(float));
  }
}

// Computes units [begin, end) of a time step.
void RecurrenceStep::compute_units(const States& states, int64_t begin, int64_t end, float* products,
                                   float* cells) const {
  const int64_t first = begin * gates(), last = end * gates();
  multiply(states, first, last, products);
  microkernels::RecurrentCell cell{};
  cell.units = std::min(end, hidden_) - begin;
  for (int64_t b = 0; b < batch(); ++b) {
    cell.gates = products + b * columns_ + first;
    cell.projected = projected_->floats() + states.time * projected_->strides[0] + b * projected_->strides[1] + first;
    cell.previous = states.rows[b] + begin;
    cell.cell = cells + b * padded_ + begin;
    cell.out = out_row(states.time, b) + begin;
    is_gru_ ? kernels_->packed->gru(cell) : kernels_->packed->lstm(cell);
  }
}

void RecurrenceStep::multiply_floats(const float* weights, const States& states, int64_t first, int64_t last,
                                     float* products) const {
  if (batch() == 1) return multiply_row(weights, states, first, last, products);
  microkernels::Panels product{};
  product.kernels = kernels_;
  product.halves = microkernels::f32_half_microkernels(*kernels_);
  product.rows = states.rows;
  product.row_step = product.m = batch();
  product.taps = 1;
  product.k = hidden_;
  product.n = columns_;
  product.b = weights;
  product.bias = bias_;
  product.c = products;
  product.c_step = columns_;
  const int64_t panel = packing_of(*kernels_).panel;
  microkernels::multiply(product, first / panel, divide_up(last, panel));
}

// Computes the products of one sequence. Every second time step reads the weights in reverse order, so that some
// weights are still in the cache if not all of them fit into it.
void RecurrenceStep::multiply_row(const float* weights, const States& states, int64_t first, int64_t last,
                                  float* products) const {
  const int64_t chunk = 4 * packing_of(*kernels_).panel, chunks = divide_up(last - first, chunk);
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t begin = first + (states.time % 2 != 0 ? chunks - 1 - i : i) * chunk;
    const int64_t end = std::min(begin + chunk, last);
    kernels_->packed->row(states.rows[0], hidden_, weights + begin * hidden_, bias_ ? bias_ + begin : nullptr,
                          products + begin, end - begin, false, microkernels::Epilogue{});
  }
}

}  // namespace rushlight::cpu
