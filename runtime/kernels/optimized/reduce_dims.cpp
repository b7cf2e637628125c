#include "kernels/optimized/reduce_dims.h"

#include <algorithm>
#include <cstring>

#include "kernels/optimized/integer_type.h"
#include "kernels/optimized/layout.h"
#include "microkernels/reduce/f32.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

namespace {

constexpr int64_t kGrain = kReductionGrain;
// With more rows, a sum of columns in 16 bits needs more precision than float has.
constexpr int64_t kMaxHalfRows = 4096;
constexpr int64_t kChunk = 1024;
// The sum of a whole tensor is a sum of terms; each term is the sum of this many elements.
constexpr int64_t kTerm = 64 * 1024;

float reduce_row(const microkernels::F32Microkernels& kernels, Reduction reduction, const float* x, int64_t n) {
  switch (reduction) {
    case Reduction::Sum:
      return static_cast<float>(kernels.sum(x, n));
    case Reduction::Mean:
      return static_cast<float>(kernels.sum(x, n) / static_cast<double>(n));
    default:
      return kernels.extreme(reduction == Reduction::Largest, x, n);
  }
}

void reduce_columns(const microkernels::F32Microkernels& kernels, Reduction reduction, const float* x, int64_t n,
                    int64_t stride, int64_t columns, float* out) {
  const microkernels::BinaryOp op = reduction == Reduction::Largest    ? microkernels::BinaryOp::Maximum
                                    : reduction == Reduction::Smallest ? microkernels::BinaryOp::Minimum
                                                                       : microkernels::BinaryOp::Add;
  if (op == microkernels::BinaryOp::Add) {
    microkernels::sum_rows(kernels, x, stride, n, out, columns);
  } else {
    std::memmove(out, x, static_cast<size_t>(columns) * sizeof(float));
    kernels.reduce_rows(op, x + stride, stride, n - 1, out, columns);
  }
  if (reduction == Reduction::Mean) {
    kernels.unary(microkernels::UnaryOp::Affine, out, out, columns, 1.0f / static_cast<float>(n), 0);
  }
}

// Computes the sum of all elements, in terms of a fixed length.
bool sum_all(KernelRuntimeContext& context, const microkernels::F32Microkernels& kernels, const float* x, int64_t n,
             double* sum) {
  const int64_t count = (n + kTerm - 1) / kTerm;
  double* terms = context.allocate_temporary_array<double>(static_cast<size_t>(count));
  if (terms == nullptr) return false;
  context.parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) terms[i] = kernels.sum(x + i * kTerm, std::min(kTerm, n - i * kTerm));
  });
  *sum = 0;
  for (int64_t i = 0; i < count; ++i) *sum += terms[i];
  return true;
}

// Returns whether the dtypes of the input and of the output are supported.
bool supports(Reduction reduction, ScalarType in, ScalarType out, const ReductionShape& f) {
  if (in == ScalarType::Float) return out == ScalarType::Float;
  const bool sums = reduction <= Reduction::Mean;
  if (dtypes::kHalf.contains(in)) return out == in && !(sums && f.inner > 1 && f.reduced > kMaxHalfRows);
  IntegerRange range;
  return (in == ScalarType::Bool || integer_type_of(in, &range)) && out == (sums ? ScalarType::Long : in) &&
         reduction != Reduction::Mean;
}

void reduce_short_rows(KernelRuntimeContext& context, const microkernels::F32Microkernels& kernels, Reduction reduction,
                       const float* x, const ReductionShape& f, float* y) {
  const auto size = static_cast<float>(f.reduced);
  for_transposed_rows(context, x, f.outer, f.reduced, [&](const float* block, int64_t rows, int64_t first) {
    const Reduction columns = reduction == Reduction::Mean ? Reduction::Sum : reduction;
    reduce_columns(kernels, columns, block, f.reduced, kTransposedRows, rows, y + first);
    if (reduction == Reduction::Mean) {
      kernels.binary(microkernels::BinaryOp::Div, y + first, 1, &size, 0, y + first, rows, 0);
    }
  });
}

void reduce_inner(KernelRuntimeContext& context, const microkernels::F32Microkernels& kernels, Reduction reduction,
                  const float* x, const ReductionShape& f, float* y) {
  context.parallel_for(0, f.outer, std::max<int64_t>(1, kGrain / f.reduced), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = reduce_row(kernels, reduction, x + i * f.reduced, f.reduced);
  });
}

void reduce_middle(KernelRuntimeContext& context, const microkernels::F32Microkernels& kernels, Reduction reduction,
                   const float* x, const ReductionShape& f, float* y) {
  const int64_t chunks = (f.inner + kChunk - 1) / kChunk;
  const int64_t work = f.reduced * std::min(kChunk, f.inner);
  context.parallel_for(0, f.outer * chunks, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % chunks * kChunk;
      const int64_t outer = i / chunks;
      reduce_columns(kernels, reduction, x + outer * f.reduced * f.inner + column, f.reduced, f.inner,
                     std::min(kChunk, f.inner - column), y + outer * f.inner + column);
    }
  });
}

void reduce_floats(KernelRuntimeContext& context, Reduction reduction, const float* x, const ReductionShape& f,
                   float* y) {
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  if (f.outer == 1 && f.inner == 1 && f.reduced >= 2 * kTerm && reduction <= Reduction::Mean) {
    double sum;
    if (!sum_all(context, kernels, x, f.reduced, &sum)) return;
    *y = static_cast<float>(reduction == Reduction::Mean ? sum / static_cast<double>(f.reduced) : sum);
  } else if (f.inner == 1 && f.reduced <= kShortRow && f.outer >= kTransposedRows) {
    reduce_short_rows(context, kernels, reduction, x, f, y);
  } else if (f.inner == 1) {
    reduce_inner(context, kernels, reduction, x, f, y);
  } else {
    reduce_middle(context, kernels, reduction, x, f, y);
  }
}

// The numbers of elements of a row-major tensor [outer, kept, inner] whose first and last dimensions are reduced.
struct OuterAndInner {
  int64_t outer = 1, kept = 1, inner = 1;

  // Returns false if the dims of the mask are not the first and the last ones.
  bool set(const Tensor& tensor, DimMask mask) {
    int64_t* const sizes[3] = {&outer, &kept, &inner};
    int group = 0;
    for (int64_t d = 0; d < tensor.dim(); ++d) {
      if (tensor.size(d) == 1) continue;
      const int wanted = (mask >> d & 1) == 0 ? 1 : group == 0 ? 0 : 2;
      if (wanted < group) return false;
      group = wanted;
      *sizes[group] *= tensor.size(d);
    }
    return true;
  }
};

// Both reduce f.outer rows of f.inner elements, which are f.kept * f.inner elements apart, to one number.

float sum_of_rows(const microkernels::F32Microkernels& kernels, Reduction reduction, const float* x,
                  const OuterAndInner& f) {
  double sum = 0;
  for (int64_t i = 0; i < f.outer; ++i) sum += kernels.sum(x + i * f.kept * f.inner, f.inner);
  return static_cast<float>(reduction == Reduction::Mean ? sum / static_cast<double>(f.outer * f.inner) : sum);
}

float extreme_of_rows(const microkernels::F32Microkernels& kernels, Reduction reduction, const float* x,
                      const OuterAndInner& f) {
  float values[kChunk];
  float result = 0;
  for (int64_t first = 0; first < f.outer; first += kChunk - 1) {
    const int64_t rows = std::min(kChunk - 1, f.outer - first);
    values[rows] = result;  // of the chunks before
    for (int64_t i = 0; i < rows; ++i) {
      values[i] = reduce_row(kernels, reduction, x + (first + i) * f.kept * f.inner, f.inner);
    }
    result = kernels.extreme(reduction == Reduction::Largest, values, first == 0 ? rows : rows + 1);
  }
  return result;
}

// Does the same as reduction_shape() for any dim order in which the dims that are kept ascend.
bool shape_in_memory(const Tensor& tensor, DimMask mask, ReductionShape* result) {
  if (tensor.numel() == 0) return false;
  *result = {};
  int64_t last_kept = -1;
  for (const DimOrderType dim : tensor.dim_order()) {
    const int64_t d = dim, size = tensor.size(d);
    if (size == 1) continue;
    if (mask >> d & 1) {
      if (result->inner != 1) return false;
      result->reduced *= size;
      continue;
    }
    if (d < last_kept) return false;
    last_kept = d;
    (result->reduced != 1 ? result->inner : result->outer) *= size;
  }
  return true;
}

}  // namespace

bool float_reduction_shape(const Tensor& tensor, DimMask mask, ReductionShape* result) {
  return is_float(tensor) && reduction_shape(tensor, mask, result);
}

bool reduction_shape(const Tensor& tensor, DimMask mask, ReductionShape* result) {
  return is_row_major(tensor) && shape_in_memory(tensor, mask, result);
}

bool reduce_outer_and_inner_dims(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, DimMask mask,
                                 bool keepdim, const Tensor& out) {
  constexpr int64_t kMinRow = 16;
  if (!all_float(in, out) || !is_row_major(in) || in.numel() == 0) return false;
  OuterAndInner f;
  if (!f.set(in, mask) || f.outer == 1 || f.inner < kMinRow) return false;
  if (!resize_out(context, out, reduced_shape(in, mask, keepdim).span())) return true;
  if (!is_row_major(out)) return false;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const float* const x = in.const_data_ptr<float>();
  float* const y = out.mutable_data_ptr<float>();
  const int64_t grain = std::max<int64_t>(1, kGrain / (f.outer * f.inner));
  context.parallel_for(0, f.kept, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      y[k] = reduction > Reduction::Mean ? extreme_of_rows(kernels, reduction, x + k * f.inner, f)
                                         : sum_of_rows(kernels, reduction, x + k * f.inner, f);
    }
  });
  return true;
}

bool reduce_dims(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, DimMask mask, bool keepdim,
                 const Tensor& out) {
  ReductionShape f;
  if (!shape_in_memory(in, mask, &f)) return reduce_outer_and_inner_dims(context, reduction, in, mask, keepdim, out);
  if (!supports(reduction, in.scalar_type(), out.scalar_type(), f)) return false;
  if (!resize_out(context, out, reduced_shape(in, mask, keepdim).span())) return true;
  if (!is_row_major(out)) return false;
  if (is_float(in)) {
    reduce_floats(context, reduction, in.const_data_ptr<float>(), f, out.mutable_data_ptr<float>());
    return true;
  }
  return dtypes::kHalf.contains(in.scalar_type()) ? reduce_f16(context, reduction, in, f, out)
                                                  : reduce_integers(context, reduction, in.scalar_type(), in, f, out);
}

bool reduce_conditions(KernelRuntimeContext& context, bool any, const Tensor& in, DimMask mask, bool keepdim,
                       const Tensor& out) {
  ReductionShape f;
  const auto is_condition = [](const Tensor& tensor) {
    return tensor.scalar_type() == ScalarType::Bool ||
           (tensor.element_size() == 1 && is_integral(tensor.scalar_type()));
  };
  if (!is_condition(in) || !is_condition(out) || !shape_in_memory(in, mask, &f)) return false;
  if (!resize_out(context, out, reduced_shape(in, mask, keepdim).span())) return true;
  return is_row_major(out) &&
         reduce_integers(context, any ? Reduction::Largest : Reduction::Smallest, ScalarType::Bool, in, f, out);
}

}  // namespace rushlight::optimized
