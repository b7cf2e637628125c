#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/shared/elementwise_rows.h"
#include "kernels/shared/shape.h"
#include "rushlight/core/evalue.h"

namespace rushlight::optimized {

// Calls loop(a, b, y, n) for blocks of contiguous elements of type T, so that the compiler can vectorize the loop.
// Sets the shape of `out`. The operands and `out` have elements of type T. Returns false if for_element_rows() does.
template <typename T, typename Loop>
bool for_element_blocks(KernelRuntimeContext& context, const RowOperand& a, const RowOperand& b, const Tensor& out,
                        const Loop& loop) {
  constexpr int64_t kBlock = 1024 / static_cast<int64_t>(sizeof(T));
  if (!resize_to_rows(context, out, {&a, &b})) return true;
  return for_element_rows(context, out, {&a, &b}, kElementGrain, [&](const ElementRow& row) {
    T numbers[2][kBlock];
    for (int k = 0; k < 2; ++k) {
      if (row.step[k] == 0) std::fill_n(numbers[k], std::min(kBlock, row.n), *reinterpret_cast<const T*>(row.in[k]));
    }
    const auto at = [&](int k, int64_t i) {
      return row.step[k] ? reinterpret_cast<const T*>(row.in[k]) + i : numbers[k];
    };
    for (int64_t i = 0; i < row.n; i += kBlock) {
      loop(at(0, i), at(1, i), reinterpret_cast<T*>(row.out) + i, std::min(kBlock, row.n - i));
    }
  });
}

}  // namespace rushlight::optimized
