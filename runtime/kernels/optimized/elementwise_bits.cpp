#include "kernels/optimized/elementwise_bits.h"

#include <algorithm>
#include <cstring>

#include "kernels/optimized/integer_type.h"
#include "kernels/shared/elementwise_rows.h"

namespace rushlight::optimized {

using microkernels::CompareOp;
using microkernels::IntegerType;

namespace {

constexpr int64_t kBlock = 512;  // bytes

// An operation on bytes: of bits, or a comparison.
struct ByteOp {
  BitOp bits{};
  bool compares = false;
  CompareOp comparison{};

  void operator()(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) const {
    if (!compares) return combine_bits(bits, a, b, y, n);
    microkernels::integer_microkernels().compare(IntegerType::UInt8, comparison, a, 1, b, 1, y, n);
  }
};

bool run(KernelRuntimeContext& context, const ByteOp& op, bool conditions, const RowOperand& a, const RowOperand& b,
         const Tensor& out) {
  static constexpr uint8_t kZero = 0;
  const microkernels::IntegerMicrokernels& kernels = microkernels::integer_microkernels();
  if (!resize_to_rows(context, out, {&a, &b})) return true;
  return for_element_rows(context, out, {&a, &b}, kElementGrain, [&](const ElementRow& row) {
    const int64_t bytes = row.n * a.size;
    if (!conditions && row.step[0] != 0 && row.step[1] != 0) {
      return op(row.in[0], row.in[1], row.out, bytes);
    }
    uint8_t blocks[2][kBlock];
    for (int64_t i = 0; i < bytes; i += kBlock) {
      const int64_t n = std::min(kBlock, bytes - i);
      const uint8_t* in[2];
      for (int k = 0; k < 2; ++k) {
        in[k] = row.step[k] ? row.in[k] + i : blocks[k];
        for (int64_t j = 0; row.step[k] == 0 && i == 0 && j < n; j += a.size) {
          std::memcpy(blocks[k] + j, row.in[k], static_cast<size_t>(a.size));
        }
        if (!conditions) continue;
        // In a damaged program, any byte but 0 is true.
        kernels.compare(IntegerType::UInt8, CompareOp::NotEqual, in[k], 1, &kZero, 0, blocks[k], n);
        in[k] = blocks[k];
      }
      op(in[0], in[1], row.out + i, n);
    }
  });
}

}  // namespace

bool map_bits(KernelRuntimeContext& context, BitOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  const ScalarType type = a.scalar_type();
  IntegerRange range;
  if (type != ScalarType::Bool && !integer_type_of(type, &range)) return false;
  return b.scalar_type() == type && out.scalar_type() == type &&
         run(context, {op}, type == ScalarType::Bool, RowOperand(a), RowOperand(b), out);
}

bool map_bits(KernelRuntimeContext& context, BitOp op, const Tensor& a, const Scalar& b, const Tensor& out) {
  // On a little-endian machine, the first bytes of an integer are the integer of fewer bytes.
  const int64_t number = b.is_double() ? 0 : b.to<int64_t>();
  IntegerRange range;
  return !b.is_double() && integer_type_of(a.scalar_type(), &range) && out.scalar_type() == a.scalar_type() &&
         run(context, {op}, false, RowOperand(a), RowOperand(&number, static_cast<int64_t>(a.element_size())), out);
}

bool map_conditions(KernelRuntimeContext& context, BitOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto is_byte = [](const Tensor& tensor) {
    return tensor.element_size() == 1 &&
           (tensor.scalar_type() == ScalarType::Bool || is_integral(tensor.scalar_type()));
  };
  return is_byte(a) && is_byte(b) && out.scalar_type() == ScalarType::Bool &&
         run(context, {op}, true, RowOperand(a), RowOperand(b), out);
}

bool compare_bools(KernelRuntimeContext& context, CompareOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  for (const Tensor* tensor : {&a, &b, &out}) {
    if (tensor->scalar_type() != ScalarType::Bool) return false;
  }
  return run(context, {BitOp{}, true, op}, true, RowOperand(a), RowOperand(b), out);
}

}  // namespace rushlight::optimized
