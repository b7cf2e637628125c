#include "core/move_bytes.h"
#include "kernels/portable/llm.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void tile_crop_out(KernelRuntimeContext& context, const Tensor& in, int64_t size, Tensor& out) {
  RL_KERNEL_REQUIRE(context,
                    in.dim() == 3 && size > 0 && in.size(1) % size == 0 && in.size(2) % size == 0 &&
                        is_contiguous_dim_order(in.dim_order()),
                    InvalidArgument, "an image [channels, height, width] is no multiple of tiles of %lld pixels",
                    static_cast<long long>(size));
  const int64_t channels = in.size(0), rows = in.size(1) / size, columns = in.size(2) / size;
  if (!resize_out(context, out, {rows * columns, channels, size, size}) || out.numel() == 0) return;
  const int64_t bytes = size * static_cast<int64_t>(in.element_size());  // of a line of a tile
  const auto* from = static_cast<const uint8_t*>(in.const_data_ptr());
  auto* to = static_cast<uint8_t*>(out.mutable_data_ptr());
  for (int64_t i = 0; i < out.numel() / size; ++i, to += bytes) {
    const int64_t y = i % size, channel = i / size % channels, tile = i / size / channels;
    const int64_t line = (channel * rows + tile / columns) * size + y;
    move_bytes(to, from + (line * columns + tile % columns) * bytes, static_cast<size_t>(bytes));
  }
}

}  // namespace rushlight::portable
