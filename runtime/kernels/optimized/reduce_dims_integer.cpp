#include <algorithm>
#include <cstring>

#include "kernels/optimized/integer_type.h"
#include "kernels/optimized/reduce_dims.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/element_loops.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

namespace {

constexpr int64_t kChunk = 1024;

}  // namespace

bool reduce_integers(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, const ReductionShape& f,
                     const Tensor& out) {
  // The elements of a bool tensor are bytes. In a damaged program, any byte but 0 is true.
  const bool is_bool = in.scalar_type() == ScalarType::Bool;
  IntegerRange range;
  const ScalarType type = is_bool ? ScalarType::Byte : in.scalar_type();
  if (!integer_type_of(type, &range)) return false;
  const microkernels::IntegerMicrokernels& kernels = microkernels::integer_microkernels();
  const bool sums = reduction <= Reduction::Mean, largest = reduction == Reduction::Largest;
  const auto size = in.element_size();
  const microkernels::IntegerOp op = largest ? microkernels::IntegerOp::Maximum : microkernels::IntegerOp::Minimum;
  // Reduces n rows, which begin at `from` and are `stride` elements apart, to `columns` results.
  const auto reduce_columns = [&](const uint8_t* from, int64_t n, int64_t stride, int64_t columns, void* to) {
    if (sums) {
      std::memset(to, 0, static_cast<size_t>(columns) * sizeof(int64_t));
      for (int64_t i = 0; is_bool && i < n; ++i) {
        uint8_t ones[kChunk];
        find_nonzero(from + i * stride, ones, columns);
        kernels.add_rows(range.type, ones, 0, 1, static_cast<int64_t*>(to), columns);
      }
      if (is_bool) return;
      kernels.add_rows(range.type, from, stride, n, static_cast<int64_t*>(to), columns);
      return;
    }
    std::memcpy(to, from, static_cast<size_t>(columns) * size);
    kernels.reduce_rows(range.type, op, from + stride * static_cast<int64_t>(size), stride, n - 1, to, columns);
    if (is_bool) find_nonzero(static_cast<const uint8_t*>(to), static_cast<uint8_t*>(to), columns);
  };
  if (f.inner == 1 && f.reduced <= kShortRow && f.outer >= kTransposedRows) {
    switch_element_size(context, size, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (sizeof(T) <= 8) {
        for_transposed_rows(
            context, in.const_data_ptr<T>(), f.outer, f.reduced, [&](const T* block, int64_t rows, int64_t first) {
              reduce_columns(reinterpret_cast<const uint8_t*>(block), f.reduced, kTransposedRows, rows, at(out, first));
            });
      }
    });
    return true;
  }
  if (f.inner == 1) {
    context.parallel_for(0, f.outer, std::max<int64_t>(1, kReductionGrain / f.reduced),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i) {
                             const uint8_t* const row = at(in, i * f.reduced);
                             int64_t value = 0;
                             if (!sums) {
                               value = kernels.extreme(range.type, largest, row, f.reduced);
                               value = is_bool ? value != 0 : value;
                             } else if (!is_bool) {
                               value = kernels.sum(range.type, row, f.reduced);
                             }
                             for (int64_t first = 0; sums && is_bool && first < f.reduced; first += kChunk) {
                               uint8_t ones[kChunk];
                               const int64_t n = std::min(kChunk, f.reduced - first);
                               find_nonzero(row + first, ones, n);
                               value += kernels.sum(range.type, ones, n);
                             }
                             // On little-endian machines, the low bytes are the number in the narrower type.
                             std::memcpy(at(out, i), &value, out.element_size());
                           }
                         });
    return true;
  }
  const int64_t chunks = (f.inner + kChunk - 1) / kChunk;
  const int64_t work = f.reduced * std::min(kChunk, f.inner);
  context.parallel_for(
      0, f.outer * chunks, std::max<int64_t>(1, kReductionGrain / work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t column = i % chunks * kChunk, outer = i / chunks, n = std::min(kChunk, f.inner - column);
          const int64_t first = outer * f.reduced * f.inner + column;
          reduce_columns(static_cast<const uint8_t*>(at(in, first)), f.reduced, f.inner, n,
                         at(out, outer * f.inner + column));
        }
      });
  return true;
}

}  // namespace rushlight::optimized
