#include <algorithm>

#include "kernels/optimized/elementwise_f16.h"
#include "kernels/optimized/reduce_dims.h"
#include "kernels/shared/convert.h"
#include "microkernels/tables/f16.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

namespace {

// Columns that are reduced at a time.
constexpr int64_t kColumns = 2048;
// Elements of a row that one task reduces.
constexpr int64_t kTerm = 64 * 1024;

// Returns the sum, or the largest or smallest number, of a part of a row.
double reduce_part(microkernels::F16Type type, Reduction reduction, const uint16_t* x, int64_t n) {
  const microkernels::F16Microkernels& kernels = microkernels::f16_microkernels();
  if (reduction <= Reduction::Mean) return kernels.sum(type, x, n);
  return static_cast<double>(kernels.extreme(type, reduction == Reduction::Largest, x, n));
}

double reduce_row(microkernels::F16Type type, Reduction reduction, const uint16_t* x, int64_t n) {
  const double result = reduce_part(type, reduction, x, n);
  return reduction == Reduction::Mean ? result / static_cast<double>(n) : result;
}

void reduce_columns(microkernels::F16Type type, Convert load, Reduction reduction, const uint16_t* x, int64_t n,
                    int64_t stride, int64_t columns, float* sums) {
  const microkernels::BinaryOp op = reduction == Reduction::Largest    ? microkernels::BinaryOp::Maximum
                                    : reduction == Reduction::Smallest ? microkernels::BinaryOp::Minimum
                                                                       : microkernels::BinaryOp::Add;
  load(x, 1, sums, 1, columns);
  microkernels::f16_microkernels().reduce_rows(type, op, x + stride, stride, n - 1, sums, columns);
  if (reduction == Reduction::Mean) {
    microkernels::f32_microkernels().unary(microkernels::UnaryOp::Affine, sums, sums, columns,
                                           1.0f / static_cast<float>(n), 0);
  }
}

// A reduction of the middle dimension of a row-major tensor [outer, reduced, inner] of 16-bit floats.
struct F16Reduction {
  KernelRuntimeContext& context;
  Reduction reduction;
  const ReductionShape& f;
  microkernels::F16Type type;
  Convert load, store;  // to and from float32
  const uint16_t* x;
  uint16_t* y;

  // Computes a sum or mean of one long row from the sums of its parts.
  void reduce_long_row() const {
    const int64_t count = (f.reduced + kTerm - 1) / kTerm;
    double* const terms = context.allocate_temporary_array<double>(static_cast<size_t>(count));
    if (terms == nullptr) return;
    context.parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        terms[i] = reduce_part(type, reduction, x + i * kTerm, std::min(kTerm, f.reduced - i * kTerm));
      }
    });
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += terms[i];
    const auto value = static_cast<float>(reduction == Reduction::Mean ? sum / static_cast<double>(f.reduced) : sum);
    store(&value, 1, y, 1, 1);
  }

  void reduce_rows() const {
    const int64_t grain = std::max<int64_t>(1, kReductionGrain / f.reduced);
    context.parallel_for(0, f.outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto value = static_cast<float>(reduce_row(type, reduction, x + i * f.reduced, f.reduced));
        store(&value, 1, y + i, 1, 1);
      }
    });
  }

  void reduce_matrices() const {
    const int64_t chunks = (f.inner + kColumns - 1) / kColumns;
    const int64_t grain = std::max<int64_t>(1, kReductionGrain / (f.reduced * std::min(kColumns, f.inner)));
    context.parallel_for(0, f.outer * chunks, grain, [&](int64_t begin, int64_t end) {
      float sums[kColumns];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % chunks * kColumns, outer = i / chunks, n = std::min(kColumns, f.inner - column);
        reduce_columns(type, load, reduction, x + outer * f.reduced * f.inner + column, f.reduced, f.inner, n, sums);
        store(sums, 1, y + outer * f.inner + column, 1, n);
      }
    });
  }
};

}  // namespace

bool reduce_f16(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, const ReductionShape& f,
                const Tensor& out) {
  const F16Reduction task{context,
                          reduction,
                          f,
                          f16_type(in.scalar_type()),
                          load_function(in.scalar_type(), ScalarType::Float),
                          store_function(ScalarType::Float, out.scalar_type()),
                          in.const_data_ptr<uint16_t>(),
                          out.mutable_data_ptr<uint16_t>()};
  if (f.outer == 1 && f.inner == 1 && f.reduced >= 2 * kTerm && reduction <= Reduction::Mean) {
    task.reduce_long_row();
  } else if (f.inner == 1) {
    task.reduce_rows();
  } else {
    task.reduce_matrices();
  }
  return true;
}

}  // namespace rushlight::optimized
