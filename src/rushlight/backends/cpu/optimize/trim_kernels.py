"""Removes rows and columns of convolution kernels that overlap only padding at every window position."""

from __future__ import annotations

from dataclasses import replace

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.plan.node import Convolution, PlanNode
from rushlight.backends.cpu.plan.sizes import Size


def trim_kernels(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Removes rows and columns of convolution kernels that overlap only padding.

    They occur with large dilations on small images.
    """
    for step in steps:
        convolution = step.of(Convolution)
        if convolution is not None and type(convolution) is Convolution:
            step.operation = _trimmed(convolution)
    return steps


def _trimmed(convolution: Convolution) -> Convolution:
    padding, dilation = list(convolution.padding), list(convolution.dilation)
    weight = convolution.weight
    for dim in (0, 1):
        first, last = _reached(
            convolution.kernel[dim],
            convolution.stride[dim],
            padding[dim],
            dilation[dim],
            convolution.input.sizes[1 + dim],
            convolution.output.sizes[1 + dim],
        )
        weight = weight.narrow(2 + dim, first, last - first)
        padding[dim] -= first * dilation[dim]
        if last - first == 1:
            dilation[dim] = 1
    if weight.shape == convolution.weight.shape:
        return convolution
    return replace(
        convolution,
        weight=weight.contiguous(),
        padding=(padding[0], padding[1]),
        dilation=(dilation[0], dilation[1]),
    )


def _reached(
    kernel: int, stride: int, padding: int, dilation: int, size: Size, outputs: Size
) -> tuple[int, int]:
    """Returns the taps [first, last) of one dimension that overlap the image for at least one output.

    The remaining padding must not be negative. Therefore the range can contain further taps at its start.
    """
    first, last = 0, kernel
    if not isinstance(size, int) or not isinstance(outputs, int):
        return first, last
    # Tap j of output i reads pixel i * stride - padding + j * dilation.
    while (
        first + 1 < kernel and (outputs - 1) * stride + first * dilation < padding >= (first + 1) * dilation
    ):
        first += 1
    while first + 1 < last and (last - 1) * dilation >= padding + size:
        last -= 1
    return first, last
