#include "kernels/optimized/elementwise_rows.h"

#include "kernels/shared/shape.h"

namespace rushlight::optimized {

RowOperand::RowOperand(const Tensor& from)
    : data(from.const_data_ptr<uint8_t>()), size(static_cast<int64_t>(from.element_size())), tensor(&from) {}

bool resize_to_rows(KernelRuntimeContext& context, const Tensor& out,
                    std::initializer_list<const RowOperand*> operands) {
  Shape shape;
  for (const RowOperand* operand : operands) {
    if (operand->tensor && !broadcast_shape(context, shape, operand->tensor->sizes())) return false;
  }
  return resize_out(context, out, shape.span());
}

bool make_element_rows(LoopNest* nest, const Tensor& out, std::initializer_list<const RowOperand*> operands) {
  *nest = LoopNest::over(out.sizes());
  nest->add(out);
  for (const RowOperand* operand : operands) {
    if (operand->tensor) {
      nest->add(*operand->tensor);
    } else {
      for (int d = 0; d < nest->dim; ++d) nest->stride[nest->operands][d] = 0;
      ++nest->operands;
    }
  }
  nest->sort_by(0);
  nest->collapse();
  if (nest->dim == 0) return true;
  if (nest->inner_stride(0) != 1) return false;
  for (int k = 1; k < nest->operands; ++k) {
    if (nest->inner_stride(k) != 1 && nest->inner_stride(k) != 0) return false;
  }
  return true;
}

}  // namespace rushlight::optimized
