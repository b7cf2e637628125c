// Packed constants of int8 steps.
#include <cstring>

#include "backends/cpu/int8.h"

namespace rushlight::cpu {

namespace {

// The packing of the columns of an int8 matrix; see microkernels/gemm/int8.h.
struct Int8Packing {
  int64_t lanes, panel, group;

  int64_t depth(int64_t k) const { return round_up(k, group); }
  int64_t sums(int64_t n) const { return round_up(n * 4, 64); }
  int64_t size(int64_t n, int64_t k) const { return round_up(sums(n) + round_up(n, lanes) * depth(k), 64); }
  // Returns the byte offset of number `l` of column `j`.
  int64_t place(int64_t n, int64_t k, int64_t j, int64_t l) const {
    const int64_t first = j / panel * panel;
    const int64_t width = std::min(panel, round_up(n - first, lanes));
    return sums(n) + first * depth(k) + (l / group * width + j % panel) * group + l % group;
  }
};

constexpr int64_t kMaxNumbers = int64_t{1} << 40;

}  // namespace

int64_t packed_matrix_size(int64_t n, int64_t k) {
  return round_up(static_cast<int64_t>(microkernels::packed_rhs_size(microkernels::int8_microkernels(), n, k)), 64);
}

const int8_t* Binder::int8_constant(Operand operand, int64_t count) {
  const View* view = input_of(operand, ScalarType::Char);
  if (view == nullptr) return nullptr;
  if (!slot(operand)->is_constant || view->rank != 1 || count < 0 || view->sizes[0] < count ||
      (view->strides[0] != 1 && view->sizes[0] > 1)) {
    refuse(fail(Error::InvalidProgram, "operand %s.%s is not a contiguous constant of %lld int8 numbers", operation_,
                operand.field, static_cast<long long>(count)));
    return nullptr;
  }
  return static_cast<const int8_t*>(view->data);
}

const uint8_t* Binder::packed_int8(Operand operand, const schema::Int8Packing& packing, int64_t matrices, int64_t k,
                                   int64_t n) {
  const Int8Packing planned{packing.lanes(), packing.panel(), packing.group()};
  int64_t numbers = 0;
  if (__builtin_mul_overflow(matrices, k, &numbers) || __builtin_mul_overflow(numbers, n, &numbers) ||
      numbers > kMaxNumbers || planned.panel % planned.lanes != 0) {
    refuse(
        fail(Error::InvalidProgram, "operand %s.%s is too large or has an invalid packing", operation_, operand.field));
    return nullptr;
  }
  const int64_t size = planned.size(n, k);
  const int8_t* from = int8_constant(operand, matrices * size);
  const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
  if (from == nullptr || (planned.lanes == t.lanes && planned.group == t.group && planned.panel == column_step(t))) {
    return reinterpret_cast<const uint8_t*>(from);
  }
  const int64_t own = packed_matrix_size(n, k);
  uint8_t* const copy = array<uint8_t>(static_cast<size_t>(matrices * own));
  int8_t* const rows = array<int8_t>(static_cast<size_t>(n * k));
  if (copy == nullptr || rows == nullptr) return nullptr;
  for (int64_t i = 0; i < matrices; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) rows[j * k + l] = from[i * size + planned.place(n, k, j, l)];
    }
    microkernels::pack_rhs(t, rows, k, n, k, copy + i * own);
  }
  return copy;
}

}  // namespace rushlight::cpu
