#pragma once

#include <cstdint>

#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/rows.h"
#include "kernels/shared/shape.h"

namespace rushlight {

// A scan computes out[i] from in[0], ..., in[i] of each row along an axis, such as a cumulative sum. It computes with
// numbers of type C. A Function has `State init() const`, which returns the state before the first number, and
// `C update(State&, C x) const`, which changes the state by the number x and returns the result for x.

// The rows of a scan. `load` converts the numbers of `in` to C, and `store` converts results to the dtype of `out`.
struct ScanRows {
  const Tensor& in;
  const Tensor& out;
  Rows rows;  // of `in` and `out`
  Convert load, store;

  int64_t length() const { return rows.length(0); }
};

// Scans rows that are adjacent columns of a matrix: many columns at a time, one line after the other.
template <typename C, typename Function>
void scan_columns(KernelRuntimeContext& context, const ScanRows& scan, const Function& function) {
  constexpr int64_t kColumns = 512;
  const Rows& rows = scan.rows;
  rows.for_each_run(context, kColumns, [&](const int64_t* offsets, int64_t n) {
    alignas(64) C block[kColumns];
    alignas(64) decltype(function.init()) states[kColumns];
    for (int64_t j = 0; j < n; ++j) states[j] = function.init();
    for (int64_t i = 0; i < scan.length(); ++i) {
      scan.load(at(scan.in, offsets[0] + i * rows.stride(0)), 1, block, 1, n);
      for (int64_t j = 0; j < n; ++j) block[j] = function.update(states[j], block[j]);
      scan.store(block, 1, at(scan.out, offsets[1] + i * rows.stride(1)), 1, n);
    }
  });
}

// Scans n numbers of four rows. Within a row, each step depends on the previous step, so that the steps of four rows
// take about the same time as those of one row. to[r] may be from[r].
template <typename C, typename State, typename Function>
void scan_four_rows(const Function& function, State (&states)[4], const C* const (&from)[4], C* const (&to)[4],
                    int64_t n) {
  const Function f = function;  // local variables, which stores to `to` cannot change
  State a = states[0], b = states[1], c = states[2], d = states[3];
  for (int64_t i = 0; i < n; ++i) {
    const C x = from[0][i], y = from[1][i], z = from[2][i], w = from[3][i];
    to[0][i] = f.update(a, x);
    to[1][i] = f.update(b, y);
    to[2][i] = f.update(c, z);
    to[3][i] = f.update(d, w);
  }
  states[0] = a, states[1] = b, states[2] = c, states[3] = d;
}

// Scans any rows: four at a time, in blocks of numbers.
template <typename C, typename Function>
void scan_rows(KernelRuntimeContext& context, const ScanRows& scan, const Function& function) {
  constexpr int64_t kRows = 4, kBlock = 128;
  const Tensor &in = scan.in, &out = scan.out;
  const Rows& rows = scan.rows;
  // Whether rows are read and written in place.
  const bool is_direct = rows.stride(0) == 1 && rows.stride(1) == 1 && in.scalar_type() == scalar_type_of<C> &&
                         out.scalar_type() == scalar_type_of<C>;
  rows.for_each_run(context, kRows, [&](const int64_t* offsets, int64_t count) {
    decltype(function.init()) states[kRows];
    for (auto& state : states) state = function.init();
    if (is_direct && count == kRows) {
      const C* const x = in.const_data_ptr<C>() + offsets[0];
      C* const y = out.mutable_data_ptr<C>() + offsets[1];
      const C* const from[] = {x, x + rows.step(0), x + 2 * rows.step(0), x + 3 * rows.step(0)};
      C* const to[] = {y, y + rows.step(1), y + 2 * rows.step(1), y + 3 * rows.step(1)};
      return scan_four_rows(function, states, from, to, scan.length());
    }
    C blocks[kRows][kBlock];
    for (int64_t first = 0; first < scan.length(); first += kBlock) {
      const int64_t n = scan.length() - first < kBlock ? scan.length() - first : kBlock;
      for (int64_t r = 0; r < count; ++r) {
        const int64_t from = offsets[0] + r * rows.step(0) + first * rows.stride(0);
        scan.load(at(in, from), rows.stride(0), blocks[r], 1, n);
      }
      if (count == kRows) {
        const C* const from[] = {blocks[0], blocks[1], blocks[2], blocks[3]};
        C* const to[] = {blocks[0], blocks[1], blocks[2], blocks[3]};
        scan_four_rows(function, states, from, to, n);
      } else {
        for (int64_t r = 0; r < count; ++r) {
          for (int64_t i = 0; i < n; ++i) blocks[r][i] = function.update(states[r], blocks[r][i]);
        }
      }
      for (int64_t r = 0; r < count; ++r) {
        const int64_t to = offsets[1] + r * rows.step(1) + first * rows.stride(1);
        scan.store(blocks[r], 1, at(out, to), rows.stride(1), n);
      }
    }
  });
}

// Scans the rows of `in` along `axis`. `out` has the shape of `in`.
template <typename C, typename Function>
void scan(KernelRuntimeContext& context, const Tensor& in, int64_t axis, const Tensor& out, const Function& function) {
  const ScanRows scan{in, out, Rows({in, out}, axis), load_function(in.scalar_type(), scalar_type_of<C>),
                      store_function(scalar_type_of<C>, out.scalar_type())};
  if (scan.rows.adjacent() && scan.rows.stride(0) != 1) return scan_columns<C>(context, scan, function);
  scan_rows<C>(context, scan, function);
}

// Sets out's shape to the shape of `in`. Returns the axis, counted from 0.
inline bool prepare_scan(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& out,
                         int64_t* axis) {
  return normalize_dim(context, dim, in.dim(), axis) && resize_out_like(context, out, in);
}

}  // namespace rushlight
