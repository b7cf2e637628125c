#pragma once

#include <cstdint>

#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/rows.h"
#include "kernels/shared/shape.h"

namespace rushlight {

// Computes out[i] from in[0..i] of each row along `axis`. A Function has `State init() const` and `C update(State&, C
// x) const`, which returns out[i] for x = in[i].
template <typename C, typename Function>
void scan(KernelRuntimeContext& context, const Tensor& in, int64_t axis, const Tensor& out, const Function& function) {
  using State = decltype(function.init());
  const Rows rows({in, out}, axis);
  const int64_t length = rows.length(0);
  const Convert load = load_function(in.scalar_type(), scalar_type_of<C>);
  const Convert store = store_function(scalar_type_of<C>, out.scalar_type());
  if (rows.adjacent() && rows.stride(0) != 1) {
    // The rows are columns of a matrix. Many columns are processed at the same time.
    constexpr int64_t kColumns = 512;
    rows.for_each_run(context, kColumns, [&](const int64_t* offsets, int64_t n) {
      C block[kColumns];
      State states[kColumns];
      for (int64_t j = 0; j < n; ++j) states[j] = function.init();
      for (int64_t i = 0; i < length; ++i) {
        load(at(in, offsets[0] + i * rows.stride(0)), 1, block, 1, n);
        for (int64_t j = 0; j < n; ++j) block[j] = function.update(states[j], block[j]);
        store(block, 1, at(out, offsets[1] + i * rows.stride(1)), 1, n);
      }
    });
    return;
  }
  // Four rows are processed at the same time, because within a row each step depends on the previous step.
  constexpr int64_t kBlock = 128;
  constexpr int64_t kRows = 4;
  const auto step_four = [&](State(&states)[kRows], const C* const(&from)[kRows], C* const(&to)[kRows], int64_t n) {
    const Function f = function;
    State a = states[0], b = states[1], c = states[2], d = states[3];
    for (int64_t i = 0; i < n; ++i) {
      const C x = from[0][i], y = from[1][i], z = from[2][i], w = from[3][i];
      to[0][i] = f.update(a, x);
      to[1][i] = f.update(b, y);
      to[2][i] = f.update(c, z);
      to[3][i] = f.update(d, w);
    }
    states[0] = a, states[1] = b, states[2] = c, states[3] = d;
  };
  // Rows whose dtype is the compute type are read and written in place.
  const bool direct = rows.stride(0) == 1 && rows.stride(1) == 1 && in.scalar_type() == scalar_type_of<C> &&
                      out.scalar_type() == scalar_type_of<C>;
  rows.for_each_run(context, kRows, [&](const int64_t* offsets, int64_t count) {
    C blocks[kRows][kBlock];
    State states[kRows];
    for (State& state : states) state = function.init();
    if (direct && count == kRows) {
      const C* const x = in.const_data_ptr<C>() + offsets[0];
      C* const y = out.mutable_data_ptr<C>() + offsets[1];
      const C* const from[] = {x, x + rows.step(0), x + 2 * rows.step(0), x + 3 * rows.step(0)};
      C* const to[] = {y, y + rows.step(1), y + 2 * rows.step(1), y + 3 * rows.step(1)};
      return step_four(states, from, to, length);
    }
    for (int64_t first = 0; first < length; first += kBlock) {
      const int64_t n = length - first < kBlock ? length - first : kBlock;
      for (int64_t r = 0; r < count; ++r) {
        load(at(in, offsets[0] + r * rows.step(0) + first * rows.stride(0)), rows.stride(0), blocks[r], 1, n);
      }
      if (count == kRows) {
        const C* const from[] = {blocks[0], blocks[1], blocks[2], blocks[3]};
        C* const to[] = {blocks[0], blocks[1], blocks[2], blocks[3]};
        step_four(states, from, to, n);
      } else {
        for (int64_t r = 0; r < count; ++r) {
          for (int64_t i = 0; i < n; ++i) blocks[r][i] = function.update(states[r], blocks[r][i]);
        }
      }
      for (int64_t r = 0; r < count; ++r) {
        store(blocks[r], 1, at(out, offsets[1] + r * rows.step(1) + first * rows.stride(1)), rows.stride(1), n);
      }
    }
  });
}

// Sets out's shape to the shape of `in`. Returns the axis, counted from 0.
inline bool prepare_scan(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& out,
                         int64_t* axis) {
  return normalize_dim(context, dim, in.dim(), axis) && resize_out_like(context, out, in);
}

}  // namespace rushlight
