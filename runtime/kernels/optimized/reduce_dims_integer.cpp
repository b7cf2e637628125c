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

// Reduces integers of one dtype. The elements of a bool tensor are bytes. In a damaged program, any byte but 0 is true.
class IntegerReducer {
 public:
  // Returns false if there are no microkernels for the dtype.
  bool set(Reduction reduction, ScalarType dtype) {
    is_bool_ = dtype == ScalarType::Bool;
    sums_ = reduction <= Reduction::Mean;
    is_largest_ = reduction == Reduction::Largest;
    return integer_type_of(is_bool_ ? ScalarType::Byte : dtype, &range_);
  }

  // Reduces n rows, which begin at `from` and are `stride` elements of `size` bytes apart, to `columns` results.
  void reduce_columns(const uint8_t* from, int64_t n, int64_t stride, size_t size, int64_t columns, void* to) const {
    if (sums_) return sum_columns(from, n, stride, columns, static_cast<int64_t*>(to));
    const auto op = is_largest_ ? microkernels::IntegerOp::Maximum : microkernels::IntegerOp::Minimum;
    std::memmove(to, from, static_cast<size_t>(columns) * size);
    kernels_.reduce_rows(range_.type, op, from + stride * static_cast<int64_t>(size), stride, n - 1, to, columns);
    if (is_bool_) find_nonzero(static_cast<const uint8_t*>(to), static_cast<uint8_t*>(to), columns);
  }

  int64_t reduce_row(const uint8_t* row, int64_t n) const {
    if (sums_) return is_bool_ ? count_nonzero(row, n) : kernels_.sum(range_.type, row, n);
    const int64_t value = kernels_.extreme(range_.type, is_largest_, row, n);
    return is_bool_ ? value != 0 : value;
  }

 private:
  void sum_columns(const uint8_t* from, int64_t n, int64_t stride, int64_t columns, int64_t* to) const {
    std::memset(to, 0, static_cast<size_t>(columns) * sizeof(int64_t));
    if (!is_bool_) return kernels_.add_rows(range_.type, from, stride, n, to, columns);
    uint8_t ones[kChunk];
    for (int64_t i = 0; i < n; ++i) {
      find_nonzero(from + i * stride, ones, columns);
      kernels_.add_rows(range_.type, ones, 0, 1, to, columns);
    }
  }

  int64_t count_nonzero(const uint8_t* row, int64_t n) const {
    uint8_t ones[kChunk];
    int64_t count = 0;
    for (int64_t first = 0; first < n; first += kChunk) {
      const int64_t length = std::min(kChunk, n - first);
      find_nonzero(row + first, ones, length);
      count += kernels_.sum(range_.type, ones, length);
    }
    return count;
  }

  const microkernels::IntegerMicrokernels& kernels_ = microkernels::integer_microkernels();
  IntegerRange range_;
  bool is_bool_ = false, sums_ = false, is_largest_ = false;
};

void reduce_short_rows(KernelRuntimeContext& context, const IntegerReducer& reducer, const Tensor& in,
                       const ReductionShape& f, const Tensor& out) {
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) <= 8) {
      for_transposed_rows(context, in.const_data_ptr<T>(), f.outer, f.reduced,
                          [&](const T* block, int64_t rows, int64_t first) {
                            reducer.reduce_columns(reinterpret_cast<const uint8_t*>(block), f.reduced, kTransposedRows,
                                                   sizeof(T), rows, at(out, first));
                          });
    }
  });
}

void reduce_rows(KernelRuntimeContext& context, const IntegerReducer& reducer, const Tensor& in,
                 const ReductionShape& f, const Tensor& out) {
  const int64_t grain = std::max<int64_t>(1, kReductionGrain / f.reduced);
  context.parallel_for(0, f.outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t value = reducer.reduce_row(at(in, i * f.reduced), f.reduced);
      // On little-endian machines, the low bytes are the number in the narrower type.
      std::memcpy(at(out, i), &value, out.element_size());
    }
  });
}

void reduce_columns(KernelRuntimeContext& context, const IntegerReducer& reducer, const Tensor& in,
                    const ReductionShape& f, const Tensor& out) {
  const int64_t chunks = (f.inner + kChunk - 1) / kChunk;
  const int64_t grain = std::max<int64_t>(1, kReductionGrain / (f.reduced * std::min(kChunk, f.inner)));
  context.parallel_for(0, f.outer * chunks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % chunks * kChunk, outer = i / chunks;
      reducer.reduce_columns(at(in, outer * f.reduced * f.inner + column), f.reduced, f.inner, in.element_size(),
                             std::min(kChunk, f.inner - column), at(out, outer * f.inner + column));
    }
  });
}

}  // namespace

bool reduce_integers(KernelRuntimeContext& context, Reduction reduction, ScalarType dtype, const Tensor& in,
                     const ReductionShape& f, const Tensor& out) {
  IntegerReducer reducer;
  if (!reducer.set(reduction, dtype)) return false;
  if (f.inner > 1) {
    reduce_columns(context, reducer, in, f, out);
  } else if (f.reduced <= kShortRow && f.outer >= kTransposedRows) {
    reduce_short_rows(context, reducer, in, f, out);
  } else {
    reduce_rows(context, reducer, in, f, out);
  }
  return true;
}

}  // namespace rushlight::optimized
