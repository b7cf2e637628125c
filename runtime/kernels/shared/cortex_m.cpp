#include "kernels/shared/cortex_m.h"

#if defined(RL_CORTEX_M_INT8)

namespace rushlight {

void cortex_m_shape(const Tensor& tensor, int64_t dims, cortex_m::ImageShape* shape) {
  const TensorImpl& t = *tensor.impl();
  const int last = t.dim - 1, row = last - 1, channel = last - static_cast<int>(dims);
  const bool has_rows = dims > 1, has_batch = channel > 0;
  *shape = {has_batch ? t.sizes[0] : 1,   t.sizes[channel],   has_rows ? t.sizes[row] : 1,   t.sizes[last],
            has_batch ? t.strides[0] : 0, t.strides[channel], has_rows ? t.strides[row] : 0, t.strides[last]};
}

bool cortex_m_window(const Window3d& w, cortex_m::ImageWindow* window) {
  constexpr int64_t kMax = 0x7fff;
  if (w.kernel[0] != 1 || w.padding[0] != 0) return false;
  int32_t values[4][2];
  const int64_t* const fields[4] = {w.kernel, w.stride, w.padding, w.dilation};
  for (int field = 0; field < 4; ++field) {
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t value = fields[field][axis + 1];
      if (value > kMax) return false;
      values[field][axis] = static_cast<int32_t>(value);
    }
  }
  *window = {values[0][0], values[0][1], values[1][0], values[1][1],
             values[2][0], values[2][1], values[3][0], values[3][1]};
  return true;
}

}  // namespace rushlight

#endif  // RL_CORTEX_M_INT8
