#include "microkernels/conv/int8_packed.h"

#include <algorithm>
#include <cmath>

#include "core/rounding.h"
#include "microkernels/conv/int8_window.h"
#include "microkernels/workers.h"

namespace rushlight::microkernels {

namespace {

constexpr int64_t kTailFloats = 64 * 1024;  // number of float32 results that fit into the L2 cache

size_t round_to_line(size_t bytes) { return static_cast<size_t>(round_up(static_cast<int64_t>(bytes), 64)); }

}  // namespace

size_t PackedInt8Conv::matrix_bytes() const { return round_to_line(packed_rhs_size(*kernels, outputs, depth())); }

size_t PackedInt8Conv::product_bytes() const { return round_to_line(gemm_scratch(*kernels, depth())); }

size_t PackedInt8Conv::worker_bytes() const {
  return product_bytes() +
         round_to_line(Int8LhsPacker::scratch_bytes(*kernels, window_, channels, outputs, reads_in_place()));
}

bool PackedInt8Conv::prepare(const int64_t* in, const int64_t* out) {
  batch_ = out[0];
  pixels_ = out[0] * out[1] * out[2];
  window_ = int8_window(window, in, out);
  const double line = static_cast<double>(window.kernel_h) * static_cast<double>(channels) *
                      (static_cast<double>(out[2]) * static_cast<double>(window.stride_w) +
                       static_cast<double>(window.kernel_w * window.dilation_w));
  return line < 1e9;
}

int64_t PackedInt8Conv::workers_of(int64_t workers) const { return work() < kSerialWork ? 1 : workers; }

FirstWeights PackedInt8Conv::first_weights(int64_t workers) const {
  const int64_t step = column_step(*kernels);
  return {panels_of(matrix(0), outputs), round_up(depth(), kernels->group) * std::min(step, outputs),
          is_by_columns(workers_of(workers)) ? divide_up(outputs, step) : 1};
}

void PackedInt8Conv::run(KernelRuntimeContext& context, int64_t workers, const Operands& operands, void* scratch,
                         const FirstWeights& next) const {
  if (pixels_ == 0) return;
  workers = workers_of(workers);
  const auto scratch_of = [&](int64_t worker) {
    return static_cast<uint8_t*>(scratch) + static_cast<size_t>(worker) * worker_bytes();
  };
  if (is_by_columns(workers)) {
    const int64_t step = column_step(*kernels), panels = divide_up(outputs, step);
    for_workers(context, workers, panels, [&](int64_t worker, int64_t begin, int64_t end) {
      multiply(operands, {0, 0, pixels_, begin * step, std::min(end * step, outputs), scratch_of(worker),
                          next.after(worker, workers, end, panels)});
    });
    return;
  }
  const int64_t rows = kernels->rows, tiles_down = divide_up(pixels_, rows);
  const int64_t least = std::max<int64_t>(1, kMinRows / rows);
  for_sharing_workers(context, workers, tiles_down, least, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t g = 0; g < groups; ++g) {
      multiply(operands, {g, begin * rows, std::min(end * rows, pixels_), 0, outputs, scratch_of(worker),
                          g + 1 == groups ? next.after(worker, workers, end, tiles_down) : Ahead{}});
    }
  });
}

void PackedInt8Conv::multiply(const Operands& operands, const Part& part) const {
  Int8Window window = window_;
  window.in = static_cast<const uint8_t*>(operands.in), window.sign_mask = operands.in_mask;
  Int8Gemm p{};
  p.m = pixels_, p.n = outputs;
  p.rhs = matrix(part.group);
  p.ahead = static_cast<const int8_t*>(part.ahead.from), p.ahead_bytes = part.ahead.bytes;
  p.out_stride = groups * outputs;
  gives_floats ? multiply_to_floats(operands, part, window, p) : multiply_to_int8(operands, part, window, p);
}

void PackedInt8Conv::set_lhs(const Part& part, const Int8Window& window, Int8LhsPacker* lhs, Int8Gemm* gemm) const {
  lhs->set(gemm, *kernels, window, part.group * channels, channels, reads_in_place(), part.begin, part.end,
           part.scratch + product_bytes());
}

void PackedInt8Conv::multiply_to_int8(const Operands& operands, const Part& part, Int8Window& window,
                                      Int8Gemm& p) const {
  const int64_t first = part.group * outputs;
  window.zero = static_cast<int8_t>(zero);
  Int8LhsPacker lhs;
  set_lhs(part, window, &lhs, &p);
  p.out_kind = Int8Gemm::Out::Quantized;
  const float* const offset = offsets ? offsets + first : nullptr;
  p.requantize = {corrections + first, multipliers + first, offset, range.zero, range.least, range.most, sum};
  if (operands.residual) {
    Int8Sum& s = p.requantize.sum;
    s.others = static_cast<const int8_t*>(operands.residual) + first, s.sign_mask = operands.residual_mask;
  }
  p.requantize.set_sign_mask(operands.out_mask);
  p.out = static_cast<uint8_t*>(operands.out) + first;
  microkernels::multiply(*kernels, p, part.begin, part.end, part.n0, part.n1, part.scratch);
}

void PackedInt8Conv::multiply_to_floats(const Operands& operands, const Part& part, Int8Window& window,
                                        Int8Gemm& p) const {
  static constexpr float kOne = 1;
  const int64_t first = part.group * outputs;
  float* const out = static_cast<float*>(operands.out) + first;
  const bool adds_later = operands.residual && operands.residual != operands.out;
  p.out_kind = Int8Gemm::Out::Float32;
  p.multiplier = multipliers + first, p.offset = offsets ? offsets + first : nullptr;
  // If the residual is already in the memory of the output, the results are added to it.
  p.accumulate = operands.residual && !adds_later;
  const bool clamps = epilogue.clamps && !adds_later;
  p.least = clamps ? epilogue.low : -INFINITY;
  p.most = clamps ? epilogue.high : INFINITY;
  p.out = out;
  const auto apply = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    f32_kernels->packed->apply(epilogue, out + row * p.out_stride + column, p.out_stride, rows, columns);
  };
  if (epilogue.applies && !adds_later) {
    p.finish_context = &apply;
    p.finish = [](const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns) {
      (*static_cast<decltype(&apply)>(context))(row, rows, column, columns);
    };
  }
  // Consecutive output pixels have one scale, or each pixel has its own.
  const int64_t together = pixels_ / operands.scale_rows;
  p.row_step = together == 1 ? 1 : 0;
  for (Part piece = part; piece.begin < part.end; piece.begin = piece.end) {
    const int64_t row = piece.begin / together;
    piece.end = together == 1 && is_pointwise() ? part.end : std::min(part.end, (row + 1) * together);
    piece.ahead = piece.end == part.end ? part.ahead : Ahead{};
    window.zero = static_cast<int8_t>(operands.row_zeros ? operands.row_zeros[row] : zero);
    p.zeros = operands.row_zeros ? operands.row_zeros + (together == 1 ? 0 : row) : &zero;
    p.scales = operands.row_scales ? operands.row_scales + (together == 1 ? 0 : row) : &kOne;
    p.ahead = static_cast<const int8_t*>(piece.ahead.from), p.ahead_bytes = piece.ahead.bytes;
    Int8LhsPacker lhs;
    set_lhs(piece, window, &lhs, &p);
    if (adds_later) {
      multiply_and_add(p, static_cast<const float*>(operands.residual) + first, piece);
    } else {
      microkernels::multiply(*kernels, p, piece.begin, piece.end, piece.n0, piece.n1, piece.scratch);
    }
  }
}

// Multiplies a block of rows and adds the residual while the block is still in the L2 cache, then continues with the
// next block.
void PackedInt8Conv::multiply_and_add(const Int8Gemm& gemm, const float* residual, const Part& part) const {
  const int64_t columns = part.n1 - part.n0, stride = gemm.out_stride;
  const int64_t most = std::max<int64_t>(kTailFloats / columns / kernels->rows, 4) * kernels->rows;
  float* const out = static_cast<float*>(gemm.out) + part.n0;
  Int8Gemm piece = gemm;
  for (int64_t row = part.begin; row < part.end; row += most) {
    const int64_t rows = std::min(most, part.end - row);
    piece.ahead = row + rows == part.end ? gemm.ahead : nullptr;
    microkernels::multiply(*kernels, piece, row, row + rows, part.n0, part.n1, part.scratch);
    if (stride == columns) {
      finish(out + row * stride, residual + row * stride, rows * stride);
    } else {
      for (int64_t i = row; i < row + rows; ++i) finish(out + i * stride, residual + part.n0 + i * stride, columns);
    }
  }
}

// Adds the residual to `count` floats, clamps the sums and applies the operator of the epilogue.
void PackedInt8Conv::finish(float* to, const float* residual, int64_t count) const {
  f32_kernels->binary(BinaryOp::Add, to, 1, residual, 1, to, count, 0);
  if (epilogue.clamps) f32_kernels->unary(UnaryOp::Clamp, to, to, count, epilogue.low, epilogue.high);
  if (epilogue.applies) f32_kernels->unary(epilogue.op, to, to, count, epilogue.p, epilogue.q);
}

}  // namespace rushlight::microkernels
