#include "kernels/shared/elementwise_rows.h"

#include <algorithm>

#include "kernels/shared/axes.h"
#include "kernels/shared/shape.h"
#include "kernels/shared/short_rows.h"

namespace rushlight {

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

namespace {

constexpr int64_t kBlock = 1024;  // elements of a block of short rows

// Makes loops over `out` and operands 1, 2, ... Returns false if their rows do not have the form of an ElementRow.
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

// The operands of short rows are copied in blocks, so that one call computes many rows.
class ShortElementRows {
 public:
  ShortElementRows(const ShortRows& rows, const Tensor& out, std::initializer_list<const RowOperand*> operands)
      : rows_(rows), out_(out), operands_(operands) {}

  void run(const ElementRowFunction& function, int64_t begin, int64_t end) const {
    alignas(64) uint8_t buffers[3][kBlock * 8 + ShortRows::kSlackBytes];
    for (int64_t first = begin; first < end; first += rows_.rows_at_once()) {
      const int64_t count = std::min(rows_.rows_at_once(), end - first);
      ElementRow row{{}, {}, at(out_, first * rows_.row_size()), count * rows_.row_size()};
      int k = 0;
      for (const RowOperand* const operand : operands_) {
        row.step[k] = rows_.is_number(k + 1) ? 0 : 1;
        row.in[k] =
            row.step[k] ? rows_.read(k + 1, operand->data, operand->size, first, count, buffers[k]) : operand->data;
        ++k;
      }
      function.call(function.function, row);
    }
  }

 private:
  const ShortRows& rows_;
  const Tensor& out_;
  std::initializer_list<const RowOperand*> operands_;
};

}  // namespace

bool run_element_rows(KernelRuntimeContext& context, const Tensor& out,
                      std::initializer_list<const RowOperand*> operands, int64_t grain,
                      const ElementRowFunction& function) {
  LoopNest nest;
  if (!make_element_rows(&nest, out, operands)) return false;
  ShortRows rows;
  if (rows.prepare(nest, 0, kBlock)) {
    const ShortElementRows short_rows(rows, out, operands);
    context.parallel_for(0, rows.rows(), std::max<int64_t>(1, grain / std::max<int64_t>(1, rows.row_size())),
                         [&](int64_t begin, int64_t end) { short_rows.run(function, begin, end); });
    return true;
  }
  context.parallel_for(0, nest.numel(), grain, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* offsets, int64_t n) {
      ElementRow row{{}, {}, at(out, offsets[0]), n};
      int k = 0;
      for (const RowOperand* const operand : operands) {
        row.in[k] = operand->at(offsets[k + 1]);
        row.step[k] = nest.dim > 0 ? nest.inner_stride(k + 1) : 1;
        ++k;
      }
      function.call(function.function, row);
    });
  });
  return true;
}

}  // namespace rushlight
