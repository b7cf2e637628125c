#include "kernels/shared/loop_nest.h"

namespace rushlight {

int64_t LoopNest::numel() const {
  int64_t count = 1;
  for (int d = 0; d < dim; ++d) count *= size[d];
  return count;
}

LoopNest LoopNest::over(Span<const SizesType> shape) {
  LoopNest nest;
  for (const SizesType size : shape) nest.size[nest.dim++] = size;
  return nest;
}

void LoopNest::add(const Tensor& tensor) {
  const int lead = dim - static_cast<int>(tensor.dim());
  for (int d = 0; d < dim; ++d) {
    const bool broadcast = d < lead || (tensor.size(d - lead) == 1 && size[d] != 1);
    stride[operands][d] = broadcast ? 0 : tensor.stride(d - lead);
  }
  ++operands;
}

void LoopNest::push(int64_t loop_size, std::initializer_list<int64_t> strides) {
  size[dim] = loop_size;
  int k = 0;
  for (const int64_t s : strides) stride[k++][dim] = s;
  operands = k;
  ++dim;
}

void LoopNest::sort_by(int operand) {
  for (int i = 1; i < dim; ++i) {
    for (int j = i; j > 0 && stride[operand][j - 1] < stride[operand][j]; --j) {
      std::swap(size[j - 1], size[j]);
      for (int k = 0; k < operands; ++k) std::swap(stride[k][j - 1], stride[k][j]);
    }
  }
}

void LoopNest::collapse() {
  int kept = 0;
  for (int d = 0; d < dim; ++d) {
    if (size[d] == 1) continue;
    bool joins = kept > 0;
    for (int k = 0; joins && k < operands; ++k) joins = stride[k][kept - 1] == stride[k][d] * size[d];
    if (joins) {
      size[kept - 1] *= size[d];
    } else {
      size[kept++] = size[d];
    }
    for (int k = 0; k < operands; ++k) stride[k][kept - 1] = stride[k][d];
  }
  dim = kept;
}

RowPosition::RowPosition(const LoopNest& nest, int64_t first) {
  int64_t rest = first;
  for (int d = nest.dim; d-- > 0;) {
    index[d] = 0;
    if (rest == 0) continue;
    index[d] = rest % nest.size[d];
    rest /= nest.size[d];
  }
  for (int k = 0; k < nest.operands; ++k) {
    int64_t offset = 0;
    for (int d = 0; first != 0 && d < nest.dim; ++d) offset += index[d] * nest.stride[k][d];
    offsets[k] = offset;
  }
}

void RowPosition::step(const LoopNest& nest) {
  const int inner = nest.dim - 1;
  for (int k = 0; k < nest.operands; ++k) offsets[k] -= index[inner] * nest.stride[k][inner];
  index[inner] = 0;
  for (int d = inner; d-- > 0;) {
    for (int k = 0; k < nest.operands; ++k) offsets[k] += nest.stride[k][d];
    if (++index[d] < nest.size[d]) return;
    for (int k = 0; k < nest.operands; ++k) offsets[k] -= nest.size[d] * nest.stride[k][d];
    index[d] = 0;
  }
}

}  // namespace rushlight
