"""Windows of convolution and pooling, in the common form [batch, channels, depth, height, width].

Example: `avg_pool1d` of float32[1, 4] with windows of 3, stride 2 and padding 1.

    static void avg_pool1d_0(const f32 *restrict in, f32 *restrict out) {
      for (ptrdiff_t n = 0; n < 1; ++n) {
        for (ptrdiff_t c = 0; c < 1; ++c) {
          for (ptrdiff_t x = 0; x < 2; ++x) {
            float sum = 0;
            const ptrdiff_t x_start = 2 * x - 1;
            const ptrdiff_t x_stop = x_start + 3;
            const ptrdiff_t x_first = x_start > 0 ? x_start : 0;
            const ptrdiff_t x_last = x_stop;
            for (ptrdiff_t px = x_first; px < x_last; ++px) {
              sum += in[4 * c + px];
            }
            const ptrdiff_t divisor = (x_stop - x_start);
            const float r = x_last <= x_first ? 0 : (sum / (float)divisor);
            out[2 * c + x] = r;
          }
        }
      }
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.kernel import Kernel
from rushlight.aot_c.values import TensorValue


def field(
    k: Kernel, name: str, values: Sequence[int], dims: int, default: Sequence[int], least: int
) -> list[int]:
    """Extends `values` to three spatial dims. It has one item, `dims` items, or no items for the default."""
    if not values:
        return list(default)
    if len(values) not in (1, dims) or min(values) < least:
        raise Unsupported(f"{name}={list(values)} is not supported for {dims} spatial dims")
    own = list(values) * dims if len(values) == 1 else list(values)
    return [*default[: 3 - dims], *own]


@dataclass
class Image:
    """The sizes and strides of a tensor, extended to a batch, channels and three spatial dims."""

    batch: int
    channels: int
    size: list[int]
    batch_stride: int
    channel_stride: int
    stride: list[int]

    @classmethod
    def of(cls, tensor: TensorValue, dims: int) -> Image:
        """Describes a tensor with channels, `dims` spatial dims and perhaps a batch."""
        channel = tensor.rank - dims - 1
        if channel not in (0, 1):
            raise Unsupported(f"{tensor.describe()} does not have channels and {dims} spatial dims")
        lead = 3 - dims
        return cls(
            batch=tensor.sizes[0] if channel > 0 else 1,
            channels=tensor.sizes[channel],
            size=[1] * lead + list(tensor.sizes[channel + 1 :]),
            batch_stride=tensor.strides[0] if channel > 0 else 0,
            channel_stride=tensor.strides[channel],
            stride=[0] * lead + list(tensor.strides[channel + 1 :]),
        )


@dataclass
class Window:
    """A window over three spatial dims."""

    kernel: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int]

    @property
    def taps(self) -> int:
        """The number of elements of the window."""
        return self.kernel[0] * self.kernel[1] * self.kernel[2]


def pooled_size(size: int, window: Window, axis: int, ceil_mode: bool) -> int:
    """Returns the number of positions of a window along a dim."""
    kernel, stride = window.kernel[axis], window.stride[axis]
    padding, dilation = window.padding[axis], window.dilation[axis]
    last_start = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (last_start + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count
