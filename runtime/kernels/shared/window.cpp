#include "kernels/shared/window.h"

#include "kernels/shared/integer.h"

namespace rushlight {

bool read_window_field(KernelRuntimeContext& context, const char* name, Span<const int64_t> values, int64_t dims,
                       int64_t minimum, int64_t (&field)[3]) {
  if (values.empty()) return true;
  const int64_t count = static_cast<int64_t>(values.size());
  if (count != 1 && count != dims) {
    context.fail(Error::InvalidArgument, "%s has %lld values for %lld dims", name, static_cast<long long>(count),
                 static_cast<long long>(dims));
    return false;
  }
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t value = values[static_cast<size_t>(count == 1 ? 0 : i)];
    if (value < minimum || value > INT32_MAX) {
      context.fail(Error::InvalidArgument, "%s cannot be %lld", name, static_cast<long long>(value));
      return false;
    }
    field[3 - dims + i] = value;
  }
  return true;
}

ImageLayout::ImageLayout(const Tensor& tensor, int64_t dims) {
  const int64_t channel = tensor.dim() - dims - 1;
  if (channel > 0) {
    batch = tensor.size(0);
    batch_stride = tensor.stride(0);
  }
  channels = tensor.size(channel);
  channel_stride = tensor.stride(channel);
  for (int64_t i = 0; i < dims; ++i) {
    size[3 - dims + i] = tensor.size(channel + 1 + i);
    stride[3 - dims + i] = tensor.stride(channel + 1 + i);
  }
}

int64_t pooled_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  const int64_t last_start = size + 2 * padding - dilation * (kernel - 1) - 1;
  int64_t count = floor_div(last_start + (ceil_mode ? stride - 1 : 0), stride) + 1;
  if (ceil_mode && (count - 1) * stride >= size + padding) --count;
  return count;
}

}  // namespace rushlight
