// Helpers for int8 steps. An int8 number represents the real number (number - zero) * scale.
#pragma once

#include <algorithm>

#include "backends/cpu/image.h"
#include "microkernels/conv/int8_window.h"
#include "microkernels/elementwise/int8.h"
#include "microkernels/gemm/int8.h"

namespace rushlight::cpu {

// Returns the distance in bytes of consecutive packed matrices [n, k]; see Binder::packed_int8().
int64_t packed_matrix_size(int64_t n, int64_t k);

inline Result<microkernels::Int8Range> range_of(const schema::Int8Range& range) {
  RL_REQUIRE(range.low() <= range.high(), InvalidProgram, "the bounds of int8 results are invalid: %d and %d",
             range.low(), range.high());
  return microkernels::Int8Range{range.zero_point(), range.low(), range.high()};
}

// Returns the parameters for the addition of a residual to int8 results with zero point `zero`. The caller sets the
// address of the residual.
inline Result<microkernels::Int8Sum> sum_of(const schema::Int8Sum& added, int32_t zero) {
  microkernels::Int8Sum sum{};
  RL_ASSIGN(sum.range, range_of(added.output()));
  sum.factor = added.factor(), sum.other_factor = added.residual_factor();
  sum.offset = microkernels::sum_offset(zero, added.residual_zero_point(), sum.factor, sum.other_factor);
  return sum;
}

// Returns whether the elements are contiguous in row-major order.
inline bool is_dense(const View& view) {
  int64_t expected = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    if (view.sizes[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.sizes[i];
  }
  return true;
}

// Makes a step that computes an int8 convolution with Winograd's algorithm, or returns null if this is slower.
Result<Step*> make_int8_winograd(const schema::Int8Gemm& op, Binder& binder);

// Returns InvalidProgram unless both views are dense images [n, h, w, c] with the same batch size.
inline Error require_images(const View& in, const View& out) {
  RL_REQUIRE(in.rank == 4 && out.rank == 4 && in.sizes[0] == out.sizes[0] && is_dense(in) && is_dense(out),
             InvalidProgram, "the operands of an int8 step are not dense images with the same batch size");
  return Error::Ok;
}

// Returns InvalidProgram unless the residual is a dense image with the sizes of the output.
inline Error require_residual(const View& residual, const View& out) {
  RL_REQUIRE(residual.has_sizes_of(out) && is_dense(residual), InvalidProgram,
             "the residual of an int8 step does not have the shape of the output");
  return Error::Ok;
}

// Returns whether the views are the scales and zero points of the rows of a GEMM's LHS: one for each row, or one for
// all rows.
inline bool are_row_parameters(const View& scales, const View& zeros, int64_t rows) {
  return scales.rank == 1 && zeros.has_sizes_of(scales) && (scales.sizes[0] == 1 || scales.sizes[0] == rows) &&
         is_dense(scales) && is_dense(zeros);
}

// Returns the window of a convolution over `in`. The elements of the padding are `zero`.
inline microkernels::Int8Window window_of(const Window& w, const View& in, const View& out, int32_t zero) {
  microkernels::Int8Window b = microkernels::int8_window(w, in.sizes, out.sizes);
  b.in = static_cast<const uint8_t*>(in.data);
  b.zero = static_cast<int8_t>(zero);
  return b;
}

}  // namespace rushlight::cpu
