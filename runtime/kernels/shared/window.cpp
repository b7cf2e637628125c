#include "kernels/shared/window.h"

#include "kernels/shared/integer.h"

namespace rushlight {

bool read_window_field(KernelRuntimeContext& context, const char* name, Span<const int64_t> values, int64_t dims,
                       int32_t minimum, int64_t (&field)[3]) {
  if (values.empty()) return true;
  const int64_t count = static_cast<int64_t>(values.size());
  if (count != 1 && count != dims) {
    context.fail(Error::InvalidArgument, "%s has %lld values for %lld dims", name, static_cast<long long>(count),
                 static_cast<long long>(dims));
    return false;
  }
  const int64_t* value = values.data();
  const int step = count == 1 ? 0 : 1;
  for (int64_t* to = field + 3 - dims; to != field + 3; ++to) {
    const auto narrow = static_cast<int32_t>(*value);
    if (narrow != *value || narrow < minimum) {
      context.fail(Error::InvalidArgument, "%s cannot be %lld", name, static_cast<long long>(*value));
      return false;
    }
    *to = narrow;
    value += step;
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
  const int64_t last = last_start + (ceil_mode ? stride - 1 : 0);
  int64_t count = last < 0 ? 0 : quotient(last, stride) + 1;
  if (ceil_mode && (count - 1) * stride >= size + padding) --count;
  return count;
}

}  // namespace rushlight
