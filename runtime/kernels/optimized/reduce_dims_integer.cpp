#include <algorithm>
#include <cstring>

#include "kernels/optimized/integer_type.h"
#include "kernels/optimized/reduce_dims.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

namespace {

constexpr int64_t kChunk = 1024;

}  // namespace

bool reduce_integers(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, const ReductionShape& f,
                     const Tensor& out) {
  IntegerRange range;
  if (!integer_type_of(in.scalar_type(), &range)) return false;
  const microkernels::IntegerMicrokernels& kernels = microkernels::integer_microkernels();
  const bool sums = reduction <= Reduction::Mean, largest = reduction == Reduction::Largest;
  const auto size = in.element_size();
  if (f.inner == 1) {
    context.parallel_for(
        0, f.outer, std::max<int64_t>(1, kReductionGrain / f.reduced), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const void* const row = at(in, i * f.reduced);
            const int64_t value =
                sums ? kernels.sum(range.type, row, f.reduced) : kernels.extreme(range.type, largest, row, f.reduced);
            // On little-endian machines, the low bytes are the number in the narrower type.
            std::memcpy(at(out, i), &value, out.element_size());
          }
        });
    return true;
  }
  const microkernels::IntegerOp op = largest ? microkernels::IntegerOp::Maximum : microkernels::IntegerOp::Minimum;
  const int64_t chunks = (f.inner + kChunk - 1) / kChunk;
  const int64_t work = f.reduced * std::min(kChunk, f.inner);
  context.parallel_for(
      0, f.outer * chunks, std::max<int64_t>(1, kReductionGrain / work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t column = i % chunks * kChunk, outer = i / chunks, n = std::min(kChunk, f.inner - column);
          const int64_t first = outer * f.reduced * f.inner + column;
          void* const to = at(out, outer * f.inner + column);
          if (sums) {
            std::memset(to, 0, static_cast<size_t>(n) * sizeof(int64_t));
            kernels.add_rows(range.type, at(in, first), f.inner, f.reduced, static_cast<int64_t*>(to), n);
            continue;
          }
          std::memcpy(to, at(in, first), static_cast<size_t>(n) * size);
          kernels.reduce_rows(range.type, op, at(in, first + f.inner), f.inner, f.reduced - 1, to, n);
        }
      });
  return true;
}

}  // namespace rushlight::optimized
