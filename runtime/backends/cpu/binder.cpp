#include <cstring>

#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kMostElements = int64_t{1} << 40;

// A count of floats, or -1 if it is out of all proportion.
int64_t packed_floats(int64_t matrices, int64_t k, int64_t columns) {
  if (matrices < 0 || k < 0 || columns < 0) return -1;
  int64_t count = 0;
  if (__builtin_mul_overflow(matrices, k, &count) || __builtin_mul_overflow(count, columns, &count)) return -1;
  return count > kMostElements ? -1 : count;
}

// Moves one matrix from one packing into another.
template <typename T>
void repack(const T* from, const Packing& a, T* to, const Packing& b, int64_t k, int64_t n) {
  const auto width = [&](const Packing& p, int64_t column) {
    const int64_t first = column / p.panel * p.panel;
    return first + p.panel <= n ? p.panel : p.columns(n) - first;
  };
  const auto place = [&](const Packing& p, int64_t column) {
    return column / p.panel * p.panel * k + column % p.panel;
  };
  std::memset(to, 0, static_cast<size_t>(k * b.columns(n)) * sizeof(T));
  for (int64_t j = 0; j < n; ++j) {
    const T* source = from + place(a, j);
    T* target = to + place(b, j);
    const int64_t source_step = width(a, j), target_step = width(b, j);
    for (int64_t l = 0; l < k; ++l) target[l * target_step] = source[l * source_step];
  }
}

}  // namespace

const Binder::Slot* Binder::slot(uint32_t index) {
  if (index >= step_.values().size() || step_.values()[index] >= slots_.size()) {
    refuse(fail(Error::InvalidProgram, "operand %u of a step of kind %u is not there", index, step_.kind()));
    return nullptr;
  }
  return &slots_[step_.values()[index]];
}

const View* Binder::stored_input(uint32_t index) {
  const Slot* found = slot(index);
  return found ? &found->view : nullptr;
}

const View* Binder::any_input(uint32_t index) {
  const View* view = stored_input(index);
  if (view && is_half(view->dtype)) {
    refuse(fail(Error::InvalidProgram, "operand %u of a step of kind %u is %s, which it cannot read", index,
                step_.kind(), dtype_name(view->dtype)));
    return nullptr;
  }
  return view;
}

const View* Binder::input_of(uint32_t index, ScalarType dtype) {
  const View* view = stored_input(index);
  if (view && view->dtype != dtype) {
    refuse(fail(Error::InvalidProgram, "operand %u of a step of kind %u is %s, not %s", index, step_.kind(),
                dtype_name(view->dtype), dtype_name(dtype)));
    return nullptr;
  }
  return view;
}

const View* Binder::input(uint32_t index) { return input_of(index, ScalarType::Float); }

const View* Binder::output_of(uint32_t index, ScalarType dtype) {
  return input_of(index, dtype) ? written(index) : nullptr;
}

bool Binder::has(uint32_t index) const { return index >= step_.values().size() || step_.values()[index] != kNone; }

const View* Binder::optional_input(uint32_t index) { return has(index) ? input(index) : nullptr; }

const View* Binder::output(uint32_t index) { return input(index) ? any_output(index) : nullptr; }

const View* Binder::any_output(uint32_t index) { return any_input(index) ? written(index) : nullptr; }

const View* Binder::written(uint32_t index) {
  const View* view = stored_input(index);
  if (view && !slot(index)->is_writable) {
    refuse(fail(Error::InvalidProgram, "a step of kind %u writes operand %u, which is not its to write", step_.kind(),
                index));
    return nullptr;
  }
  return view;
}

const View* Binder::constant_view(uint32_t index, int64_t count, ScalarType dtype) {
  const View* view = stored_input(index);
  if (view == nullptr) return nullptr;
  const bool has_type = view->dtype == dtype || (dtype == ScalarType::Float && is_half(view->dtype));
  if (!slot(index)->is_constant || !has_type || view->rank != 1 || count < 0 || view->sizes[0] < count ||
      (view->strides[0] != 1 && view->sizes[0] > 1)) {
    refuse(fail(Error::InvalidProgram, "operand %u of a step of kind %u is no constant of %lld numbers of type %s",
                index, step_.kind(), static_cast<long long>(count), dtype_name(dtype)));
    return nullptr;
  }
  return view;
}

const float* Binder::constant(uint32_t index, int64_t count) {
  const View* view = constant_view(index, count);
  if (view == nullptr || view->dtype == ScalarType::Float) return view ? view->floats() : nullptr;
  float* copy = array<float>(static_cast<size_t>(count));
  if (copy) tiles::half_tiles().widen(half_type(view->dtype), static_cast<const uint16_t*>(view->data), count, copy);
  return copy;
}

const float* Binder::optional_constant(uint32_t index, int64_t count) {
  return has(index) ? constant(index, count) : nullptr;
}

const float* Binder::packed(uint32_t index, int64_t matrices, int64_t k, int64_t n, const int64_t* terms) {
  int64_t total = terms ? 0 : matrices;
  for (int64_t i = 0; terms && i < matrices; ++i) total += terms[i];
  const float* planned = constant(index, packed_floats(total, k, planned_.columns(n)));
  if (planned == nullptr || packs_as_planned()) return planned;
  const Packing own = packing_of(tiles_);
  const int64_t own_count = packed_floats(total, k, own.columns(n));
  float* copy = own_count < 0 ? nullptr : array<float>(static_cast<size_t>(own_count));
  if (copy == nullptr) return nullptr;
  for (int64_t i = 0, before = 0; i < matrices; ++i) {
    const int64_t depth = terms ? terms[i] * k : k;
    repack(planned + before * planned_.columns(n), planned_, copy + before * own.columns(n), own, depth, n);
    before += depth;
  }
  return copy;
}

optimized::PackedWeights Binder::packed_weights(uint32_t index, int64_t matrices, int64_t k, int64_t n) {
  optimized::PackedWeights weights;
  const View* view = constant_view(index, packed_floats(matrices, k, planned_.columns(n)));
  if (view == nullptr) return weights;
  if (!is_half(view->dtype)) {
    weights.floats = packed(index, matrices, k, n);
    return weights;
  }
  weights.type = half_type(view->dtype);
  weights.halves = static_cast<const uint16_t*>(view->data);
  if (packs_as_planned()) return weights;
  const Packing own = packing_of(tiles_);
  const int64_t count = packed_floats(matrices, k, own.columns(n));
  uint16_t* copy = count < 0 ? nullptr : array<uint16_t>(static_cast<size_t>(count));
  for (int64_t i = 0; copy && i < matrices; ++i) {
    repack(weights.halves + i * k * planned_.columns(n), planned_, copy + i * k * own.columns(n), own, k, n);
  }
  weights.halves = copy;
  return weights;
}

bool Binder::packs_as_planned() const {
  const Packing own = packing_of(tiles_);
  return own.vector == planned_.vector && own.panel == planned_.panel;
}

optimized::BlockMatrix Binder::block_matrix(uint32_t index, uint32_t first_int, int64_t k, int64_t n) {
  optimized::BlockMatrix matrix;
  matrix.k = k, matrix.n = n;
  matrix.blocks = integer(first_int, divide_up(k, 2 * tiles::kMostBlockPairs), k);
  matrix.pairs = divide_up(divide_up(k, matrix.blocks), 2);
  const View* view = constant_view(index, packed_floats(1, matrix.rows(), planned_.columns(n)), ScalarType::Int);
  if (view) matrix.words = static_cast<const uint32_t*>(view->data);
  return matrix;
}

const float* Binder::widened(const optimized::BlockMatrix& matrix) {
  const Packing own = packing_of(tiles_);
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

int64_t Binder::integer(uint32_t index, int64_t low, int64_t high) {
  const int64_t value = index < step_.ints().size() ? step_.ints()[index] : low - 1;
  if (value < low || value > high) {
    refuse(fail(Error::InvalidProgram, "number %u of a step of kind %u is missing or outside of %lld to %lld", index,
                step_.kind(), static_cast<long long>(low), static_cast<long long>(high)));
    return low;
  }
  return value;
}

float Binder::number(uint32_t index) {
  if (index < step_.floats().size()) return step_.floats()[index];
  refuse(fail(Error::InvalidProgram, "float %u of a step of kind %u is missing", index, step_.kind()));
  return 0;
}

tiles::Epilogue Binder::epilogue(uint32_t first_int, uint32_t first_float) {
  tiles::Epilogue e;
  e.clamps = integer(first_int, 0, 1) != 0;
  const int64_t op = integer(first_int + 1, -1, static_cast<int64_t>(tiles::UnaryOp::GeluTanh));
  e.applies = op >= 0;
  if (e.applies) e.op = static_cast<tiles::UnaryOp>(op);
  e.low = number(first_float);
  e.high = number(first_float + 1);
  e.p = number(first_float + 2);
  e.q = number(first_float + 3);
  return e;
}

Result<Step*> make_step(StepKind kind, Binder& binder) {
  switch (kind) {
    case StepKind::Product:
      return make_product(binder);
    case StepKind::BlockProduct:
      return make_block_product(binder);
    case StepKind::Winograd:
      return make_winograd(binder);
    case StepKind::Depthwise:
      return make_depthwise(binder);
    case StepKind::Pool:
      return make_pool(binder);
    case StepKind::Elementwise:
      return make_elementwise(binder);
    case StepKind::Copy:
      return make_copy(binder);
    case StepKind::Reduce:
      return make_reduce(binder);
    case StepKind::Softmax:
      return make_softmax(binder);
    case StepKind::Normalize:
      return make_normalize(binder);
    case StepKind::Attention:
      return make_attention(binder);
    case StepKind::MatrixProduct:
      return make_matrix_product(binder);
    case StepKind::Gather:
      return make_gather(binder);
    case StepKind::Recurrent:
      return make_recurrent(binder);
    case StepKind::Combine:
      return make_combine(binder);
    case StepKind::Select:
      return make_select(binder);
    case StepKind::Scatter:
      return make_scatter(binder);
    case StepKind::Bottleneck:
      return make_bottleneck(binder);
    case StepKind::GroupScales:
      return make_group_scales(binder);
    case StepKind::Resample:
      return make_resample(binder);
    case StepKind::ByteProduct:
      return make_byte_product(binder);
    case StepKind::ByteDepthwise:
      return make_byte_depthwise(binder);
    case StepKind::BytePool:
      return make_byte_pool(binder);
    case StepKind::ByteMean:
      return make_byte_mean(binder);
    case StepKind::ByteBinary:
      return make_byte_binary(binder);
    case StepKind::ByteMap:
      return make_byte_map(binder);
    case StepKind::Quantize:
      return make_quantize(binder);
    case StepKind::Dequantize:
      return make_dequantize(binder);
    case StepKind::QuantizeRows:
      return make_quantize_rows(binder);
    case StepKind::ScaledProduct:
      return make_scaled_product(binder);
    case StepKind::NibbleProduct:
      return make_nibble_product(binder);
    case StepKind::ScaledGather:
      return make_scaled_gather(binder);
    case StepKind::Convert:
      return make_half_conversion(binder);
  }
  return fail(Error::InvalidProgram, "the plan has a step of the unknown kind %u", static_cast<unsigned>(kind));
}

}  // namespace rushlight::cpu
