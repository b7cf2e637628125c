#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/shared/accumulate.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/rows.h"
#include "kernels/shared/shape.h"

namespace rushlight {

// Computes exp(x - max) / sum, or its logarithm, along an axis. `out` has the shape of `in` and may share its memory.
template <typename C, bool logarithm>
void softmax_rows(KernelRuntimeContext& context, const Tensor& in, int64_t axis, const Tensor& out) {
  constexpr int64_t kBlock = 1024;
  const Rows rows({in, out}, axis);
  const int64_t length = rows.length(0);
  const Convert load = load_function(in.scalar_type(), scalar_type_of<C>);
  const Convert store = store_function(scalar_type_of<C>, out.scalar_type());
  rows.for_each(context, [&](const int64_t* offsets) {
    C block[kBlock];
    // If a row fits into the block, it is read only once.
    const auto for_each_block = [&](bool read, const auto& body) {
      for (int64_t first = 0; first < length; first += kBlock) {
        const int64_t n = length - first < kBlock ? length - first : kBlock;
        if (read || length > kBlock) {
          load(at(in, offsets[0] + first * rows.stride(0)), rows.stride(0), block, 1, n);
        }
        body(first, n);
      }
    };
    // NaN needs no check here, because the sum becomes NaN.
    C maximum = -std::numeric_limits<C>::infinity();
    for_each_block(true, [&](int64_t, int64_t n) {
      for (int64_t i = 0; i < n; ++i) maximum = block[i] > maximum ? block[i] : maximum;
    });
    double sum = 0;
    for_each_block(false, [&](int64_t, int64_t n) {
      sum += sum_of(n, [&](int64_t i) {
        const C exponential = std::exp(block[i] - maximum);
        if (!logarithm) block[i] = exponential;
        return static_cast<double>(exponential);
      });
    });
    const bool has_exponentials = !logarithm && length <= kBlock;
    const C scale = static_cast<C>(1 / sum), shift = static_cast<C>(std::log(sum));
    for_each_block(false, [&](int64_t first, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        if (logarithm) {
          block[i] = block[i] - maximum - shift;
        } else {
          block[i] = (has_exponentials ? block[i] : std::exp(block[i] - maximum)) * scale;
        }
      }
      store(block, 1, at(out, offsets[1] + first * rows.stride(1)), rows.stride(1), n);
    });
  });
}

}  // namespace rushlight
