#include "backends/cpu/scaled_rows.h"

namespace rushlight::cpu {

Error bind_grouped(Binder& binder, Operand numbers, Operand scales, const GroupedShape& shape,
                   microkernels::GroupedMatrix& matrix) {
  RL_TRY(binder.error());
  RL_REQUIRE(
      (shape.bits == 8 || (shape.bits == 4 && shape.group % 2 == 0)) && shape.depth % shape.group == 0, InvalidProgram,
      "a step has unsupported quantized weights: numbers of %lld bits, groups of %lld numbers, rows of %lld "
      "numbers",
      static_cast<long long>(shape.bits), static_cast<long long>(shape.group), static_cast<long long>(shape.depth));
  matrix.is_int4 = shape.bits == 4;
  matrix.depth = shape.depth, matrix.group = shape.group;
  matrix.numbers = reinterpret_cast<const uint8_t*>(binder.int8_constant(numbers, shape.columns * matrix.row_bytes()));
  matrix.scales = binder.constant(scales, shape.columns * (shape.depth / shape.group));
  return binder.error();
}

const float* packed_floats(Binder& binder, const microkernels::GroupedMatrix& matrix, int64_t columns) {
  const microkernels::Packing packing = packing_of(binder.kernels());
  float* const packed = binder.array<float>(static_cast<size_t>(matrix.depth * packing.columns(columns)));
  for (int64_t j = 0; packed && j < columns; j += packing.panel) {
    const int64_t count = std::min(packing.panel, columns - j);
    microkernels::int8_microkernels().dequantize_panel(matrix.part(j, count, 0, matrix.depth), packing.columns(count),
                                                       packed + j * matrix.depth);
  }
  return packed;
}

}  // namespace rushlight::cpu
