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
  constexpr int32_t kMax = 0x7fff;  // ones alone, so that the numbers are within the bound if their union is
  if (w.kernel[0] != 1 || w.padding[0] != 0) return false;
  int32_t all = 0;
  const auto narrow = [&all](int64_t value) {
    const auto number = static_cast<int32_t>(value);
    all |= number;
    return number;
  };
  *window = {narrow(w.kernel[1]),  narrow(w.kernel[2]),  narrow(w.stride[1]),   narrow(w.stride[2]),
             narrow(w.padding[1]), narrow(w.padding[2]), narrow(w.dilation[1]), narrow(w.dilation[2])};
  return all <= kMax;
}

}  // namespace rushlight

#endif  // RL_CORTEX_M_INT8
