#include <cmath>
#include <cstring>

#include "backends/cpu/step.h"
#include "microkernels/tables/selected.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kMaxElements = int64_t{1} << 40;

// Returns the number of floats of packed matrices, or -1 if this number overflows or is unreasonably large.
int64_t packed_floats(int64_t matrices, int64_t k, int64_t columns) {
  if (matrices < 0 || k < 0 || columns < 0) return -1;
  int64_t count = 0;
  if (__builtin_mul_overflow(matrices, k, &count) || __builtin_mul_overflow(count, columns, &count)) return -1;
  return count > kMaxElements ? -1 : count;
}

// The numbers of one column of a packed matrix [k, n].
struct PackedColumn {
  int64_t first;  // the offset of row 0
  int64_t step;   // from row to row: the width of the panel

  PackedColumn(const Packing& packing, int64_t column, int64_t k, int64_t n) {
    const int64_t panel = column / packing.panel * packing.panel;  // the first column of the panel
    first = panel * k + column % packing.panel;
    step = panel + packing.panel <= n ? packing.panel : packing.columns(n) - panel;
  }
};

// Copies one matrix [k, n] from one packing to another.
template <typename T>
void repack(const T* from, const Packing& from_packing, T* to, const Packing& to_packing, int64_t k, int64_t n) {
  std::memset(to, 0, static_cast<size_t>(k * to_packing.columns(n)) * sizeof(T));
  for (int64_t j = 0; j < n; ++j) {
    const PackedColumn source(from_packing, j, k, n), target(to_packing, j, k, n);
    for (int64_t l = 0; l < k; ++l) to[target.first + l * target.step] = from[source.first + l * source.step];
  }
}

}  // namespace

const Binder::Slot* Binder::slot(Operand operand) {
  if (operand.index >= slots_.size()) {
    refuse(fail(Error::InvalidProgram, "operand %s.%s is missing", operation_, operand.field));
    return nullptr;
  }
  return &slots_[operand.index];
}

const View* Binder::stored_input(Operand operand) {
  const Slot* found = slot(operand);
  if (found && is_f16(found->view.dtype) && !microkernels::kHasF16) {
    refuse(fail(Error::NotSupported, "operand %s.%s is %s, for which this selective build has no code", operation_,
                operand.field, dtype_name(found->view.dtype)));
    return nullptr;
  }
  return found ? &found->view : nullptr;
}

const View* Binder::any_input(Operand operand) {
  const View* view = stored_input(operand);
  if (view && is_f16(view->dtype)) {
    refuse(fail(Error::InvalidProgram, "operand %s.%s is %s, which the operation does not support", operation_,
                operand.field, dtype_name(view->dtype)));
    return nullptr;
  }
  return view;
}

const View* Binder::input_of(Operand operand, ScalarType dtype) {
  const View* view = stored_input(operand);
  if (view && view->dtype != dtype) {
    refuse(fail(Error::InvalidProgram, "operand %s.%s is %s, not %s", operation_, operand.field,
                dtype_name(view->dtype), dtype_name(dtype)));
    return nullptr;
  }
  return view;
}

const View* Binder::input(Operand operand) { return input_of(operand, ScalarType::Float); }

const View* Binder::output_of(Operand operand, ScalarType dtype) {
  return input_of(operand, dtype) ? written(operand) : nullptr;
}

const View* Binder::optional_input(Operand operand) { return operand.has_value() ? input(operand) : nullptr; }

const View* Binder::output(Operand operand) { return input(operand) ? any_output(operand) : nullptr; }

const View* Binder::any_output(Operand operand) { return any_input(operand) ? written(operand) : nullptr; }

const View* Binder::written(Operand operand) {
  const View* view = stored_input(operand);
  if (view && !slot(operand)->is_writable) {
    refuse(fail(Error::InvalidProgram, "operand %s.%s is an output, but its memory is an input or a constant",
                operation_, operand.field));
    return nullptr;
  }
  return view;
}

const View* Binder::constant_view(Operand operand, int64_t count, ScalarType dtype) {
  const View* view = stored_input(operand);
  if (view == nullptr) return nullptr;
  const bool has_type = view->dtype == dtype || (dtype == ScalarType::Float && is_f16(view->dtype));
  if (!slot(operand)->is_constant || !has_type || view->rank != 1 || count < 0 || view->sizes[0] < count ||
      (view->strides[0] != 1 && view->sizes[0] > 1)) {
    refuse(fail(Error::InvalidProgram, "operand %s.%s is not a contiguous constant of %lld numbers of type %s",
                operation_, operand.field, static_cast<long long>(count), dtype_name(dtype)));
    return nullptr;
  }
  return view;
}

const float* Binder::constant(Operand operand, int64_t count) {
  const View* view = constant_view(operand, count);
  if (view == nullptr || view->dtype == ScalarType::Float) return view ? view->floats() : nullptr;
  float* copy = array<float>(static_cast<size_t>(count));
  if (copy == nullptr) return nullptr;
  const auto* const numbers = static_cast<const uint16_t*>(view->data);
  microkernels::widen(f16_type(view->dtype), numbers, count, copy);
  return copy;
}

const float* Binder::optional_constant(Operand operand, int64_t count) {
  return operand.has_value() ? constant(operand, count) : nullptr;
}

const float* Binder::packed_bias(Operand operand, int64_t groups, int64_t outputs) {
  constexpr int64_t kStoredMultiple = 64;  // the compiler pads a bias to a multiple of this many numbers
  const int64_t stored = round_up(groups * outputs, kStoredMultiple);
  const int64_t read = (groups - 1) * outputs + packing_of(kernels_).columns(outputs);
  return padded_constant(operand, stored, read);
}

const float* Binder::padded_constant(Operand operand, int64_t count, int64_t read) {
  const float* const numbers = optional_constant(operand, count);
  if (numbers == nullptr || read <= count) return numbers;
  float* const copy = array<float>(static_cast<size_t>(read));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, numbers, static_cast<size_t>(count) * sizeof(float));
  std::memset(copy + count, 0, static_cast<size_t>(read - count) * sizeof(float));
  return copy;
}

const float* Binder::packed_f32(Operand operand, int64_t matrices, int64_t k, int64_t n) {
  const int64_t one_term = 1;
  return packed_points(operand, 1, &one_term, matrices, k, n);
}

const float* Binder::packed_points(Operand operand, int64_t points, const int64_t* terms, int64_t groups, int64_t k,
                                   int64_t n) {
  int64_t total = 0;
  for (int64_t i = 0; i < points; ++i) total += terms[i] * groups;
  const float* planned = constant(operand, packed_floats(total, k, planned_.columns(n)));
  if (planned == nullptr || packs_as_planned()) return planned;
  const Packing own = packing_of(kernels_);
  const int64_t own_count = packed_floats(total, k, own.columns(n));
  float* copy = own_count < 0 ? nullptr : array<float>(static_cast<size_t>(own_count));
  if (copy == nullptr) return nullptr;
  for (int64_t i = 0, before = 0; i < points * groups; ++i) {
    const int64_t depth = terms[i / groups] * k;
    repack(planned + before * planned_.columns(n), planned_, copy + before * own.columns(n), own, depth, n);
    before += depth;
  }
  return copy;
}

microkernels::PackedWeights Binder::packed_weights(Operand operand, int64_t matrices, int64_t k, int64_t n) {
  microkernels::PackedWeights weights;
  const View* view = constant_view(operand, packed_floats(matrices, k, planned_.columns(n)));
  if (view == nullptr) return weights;
  if (!microkernels::kHasF16 || !is_f16(view->dtype)) {
    weights.floats = packed_f32(operand, matrices, k, n);
    return weights;
  }
  weights.type = f16_type(view->dtype);
  weights.f16 = static_cast<const uint16_t*>(view->data);
  if (packs_as_planned()) return weights;
  const Packing own = packing_of(kernels_);
  const int64_t count = packed_floats(matrices, k, own.columns(n));
  uint16_t* copy = count < 0 ? nullptr : array<uint16_t>(static_cast<size_t>(count));
  for (int64_t i = 0; copy && i < matrices; ++i) {
    repack(weights.f16 + i * k * planned_.columns(n), planned_, copy + i * k * own.columns(n), own, k, n);
  }
  weights.f16 = copy;
  return weights;
}

bool Binder::packs_as_planned() const {
  const Packing own = packing_of(kernels_);
  return own.vector == planned_.vector && own.panel == planned_.panel;
}

microkernels::BlockMatrix Binder::block_matrix(Operand operand, int64_t blocks, int64_t k, int64_t n) {
  microkernels::BlockMatrix matrix;
  if (blocks < divide_up(k, 2 * microkernels::kMaxBlockPairs) || blocks > k) {
    refuse(fail(Error::InvalidProgram, "operand %s.%s has an invalid number of blocks: %lld for %lld numbers",
                operation_, operand.field, static_cast<long long>(blocks), static_cast<long long>(k)));
    return matrix;
  }
  matrix.k = k, matrix.n = n, matrix.blocks = blocks;
  matrix.pairs = divide_up(divide_up(k, matrix.blocks), 2);
  const View* view = constant_view(operand, packed_floats(1, matrix.rows(), planned_.columns(n)), ScalarType::Int);
  if (view) matrix.words = static_cast<const uint32_t*>(view->data);
  return matrix;
}

const float* Binder::to_float32(const microkernels::BlockMatrix& matrix) {
  const Packing own = packing_of(kernels_);
  const int64_t k = matrix.k, n = matrix.n;
  float* const planned = array<float>(static_cast<size_t>(k * planned_.columns(n)));
  if (planned == nullptr) return nullptr;
  for (int64_t column = 0; column < n; column += planned_.panel) {
    const int64_t columns = planned_.columns(std::min(planned_.panel, n - column));
    matrix.widen(matrix.words + column * matrix.rows(), columns, 0, matrix.blocks, planned + column * k);
  }
  if (packs_as_planned()) return planned;
  float* const copy = array<float>(static_cast<size_t>(k * own.columns(n)));
  if (copy) repack(planned, planned_, copy, own, k, n);
  return copy;
}

microkernels::UnaryOp unary_op(schema::UnaryFunction function) {
  using Schema = schema::UnaryFunction;
  using Loop = microkernels::UnaryOp;
  static_assert(static_cast<int>(Schema::ABS) == static_cast<int>(Loop::Abs));
  static_assert(static_cast<int>(Schema::CLAMP) == static_cast<int>(Loop::Clamp));
  static_assert(static_cast<int>(Schema::HARDSIGMOID) == static_cast<int>(Loop::HardSigmoid));
  static_assert(static_cast<int>(Schema::SQRT) == static_cast<int>(Loop::Sqrt));
  static_assert(static_cast<int>(Schema::SQUARE) == static_cast<int>(Loop::Square));
  static_assert(static_cast<int>(Schema::AFFINE) == static_cast<int>(Loop::Affine));
  static_assert(static_cast<int>(Schema::EXP) == static_cast<int>(Loop::Exp));
  static_assert(static_cast<int>(Schema::ERF) == static_cast<int>(Loop::Erf));
  static_assert(static_cast<int>(Schema::SILU) == static_cast<int>(Loop::Silu));
  static_assert(static_cast<int>(Schema::GELU_TANH) == static_cast<int>(Loop::GeluTanh));
  static_assert(static_cast<int>(Schema::COS) == static_cast<int>(Loop::Cos));
  static_assert(static_cast<int>(Schema::SOFTPLUS) == static_cast<int>(Loop::Softplus));
  static_assert(static_cast<int>(Schema::SIGN) == static_cast<int>(Loop::Sign));
  return static_cast<Loop>(function);
}

microkernels::BinaryOp binary_op(schema::BinaryFunction function) {
  using Schema = schema::BinaryFunction;
  using Loop = microkernels::BinaryOp;
  static_assert(static_cast<int>(Schema::ADD) == static_cast<int>(Loop::Add));
  static_assert(static_cast<int>(Schema::ADD_SCALED) == static_cast<int>(Loop::AddScaled));
  static_assert(static_cast<int>(Schema::SUB) == static_cast<int>(Loop::Sub));
  static_assert(static_cast<int>(Schema::MUL) == static_cast<int>(Loop::Mul));
  static_assert(static_cast<int>(Schema::DIV) == static_cast<int>(Loop::Div));
  static_assert(static_cast<int>(Schema::MAXIMUM) == static_cast<int>(Loop::Maximum));
  static_assert(static_cast<int>(Schema::MINIMUM) == static_cast<int>(Loop::Minimum));
  static_assert(static_cast<int>(Schema::ATAN2) == static_cast<int>(Loop::Atan2));
  return static_cast<Loop>(function);
}

bool Binder::has_function(schema::UnaryFunction function) {
  if (function == schema::UnaryFunction::NONE || microkernels::is_selected(unary_op(function))) return true;
  refuse(fail(Error::NotSupported, "operation %s: this selective build has no code for function %d of CPU plans",
              operation_, static_cast<int>(function)));
  return false;
}

microkernels::Epilogue Binder::epilogue(const schema::Epilogue& epilogue) {
  microkernels::Epilogue result;
  result.low = epilogue.low();
  result.high = epilogue.high();
  result.clamps = result.low > -INFINITY || result.high < INFINITY;
  result.applies = epilogue.function() != schema::UnaryFunction::NONE && has_function(epilogue.function());
  if (result.applies) result.op = unary_op(epilogue.function());
  result.p = epilogue.p();
  result.q = epilogue.q();
  return result;
}

}  // namespace rushlight::cpu
