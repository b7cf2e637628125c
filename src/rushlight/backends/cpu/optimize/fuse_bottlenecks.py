"""Fuses a depthwise convolution with the convolutions before and after it.

The large results between them are then computed in parts that fit the cache.
"""

from __future__ import annotations

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.plan.aliases import Accesses
from rushlight.backends.cpu.plan.node import PlanNode, nodes_of
from rushlight.backends.cpu.plan.sizes import same, window_count
from rushlight.backends.cpu.plan.tables import (
    Bottleneck,
    BottleneckConvolution,
    BottleneckDepthwise,
    DepthwiseConv2d,
    Gemm,
    StorageKind,
    Window,
)
from rushlight.backends.cpu.plan.tensor import Tensor

# The largest number of multiplications for each element of the first convolution's result, divided by the
# numbers in a vector. With AVX2, networks whose blocks need at most 64 multiplications for each element take
# 0.94 to 0.98 of the time with separate steps. Networks whose blocks need 190 take 1.03 to 1.05 of this time.
_FEW_MULTIPLICATIONS = 16


def fuse_bottlenecks(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Fuses a convolution, a depthwise convolution and a 1 x 1 convolution that follow each other.

    The last convolution may be absent. Each must be the only reader of the preceding result. They are fused
    only if the result of the first convolution does not fit the second level cache, and if the convolutions
    need few multiplications for each element of this result. With many multiplications, the time to move the
    result between the core and the memory does not matter, and products of whole images are faster.
    """
    accesses = Accesses(steps)
    convolutions = {step: gemm for step in steps if (gemm := step.of(Gemm)) is not None}
    writers = {gemm.output.storage: step for step, gemm in convolutions.items()}
    products = {
        gemm.input.storage: step
        for step, gemm in convolutions.items()
        if is_pointwise(gemm) and gemm.prologue is None
    }

    def is_only_read_by(tensor: Tensor, reader: PlanNode, source: Tensor) -> bool:
        """Returns whether only `reader` reads the whole tensor, by its operand `source`."""
        return (
            tensor.storage.kind is StorageKind.ARENA
            and accesses.is_only_reader(reader, source.storage)
            and source.has_layout_of(tensor)
            and tensor.is_dense()
        )

    bottlenecks: dict[PlanNode, PlanNode] = {}  # by the last of the fused steps
    removed: set[PlanNode] = set()
    for step in steps:
        depthwise = step.of(DepthwiseConv2d)
        first = None if depthwise is None else writers.get(depthwise.input.storage)
        # `first in bottlenecks`: it is already the last convolution of another bottleneck.
        if depthwise is None or first is None or first in bottlenecks:
            continue
        expand = convolutions[first]
        if not _may_be_first(expand, context) or not is_only_read_by(expand.output, step, depthwise.input):
            continue
        last = products.get(depthwise.output.storage)
        if last is not None and not is_only_read_by(depthwise.output, last, convolutions[last].input):
            last = None
        if not all(accesses.may_run_later(part, last or step) for part in (first, step)):
            continue
        project = None if last is None else convolutions[last]
        if (
            _multiplications(expand, depthwise, project)
            > _FEW_MULTIPLICATIONS * context.options.target.vector
        ):
            continue
        parts = [part for part in (first, step, last) if part is not None]
        bottlenecks[last or step] = PlanNode(_bottleneck(expand, depthwise, project), nodes_of(parts))
        removed |= {first, step}
    return [bottlenecks.get(step, step) for step in steps if step in bottlenecks or step not in removed]


def is_pointwise(gemm: Gemm[Tensor]) -> bool:
    """Returns whether it is a 1 x 1 convolution with stride 1, one input and one group."""
    return gemm.groups == 1 and not gemm.more_inputs and _without_dilation(gemm.window) == Window()


def _without_dilation(window: Window) -> Window:
    """Returns the window; the dilation of a window of one pixel is set to 1."""
    if (window.kernel_h, window.kernel_w) != (1, 1):
        return window
    return Window(stride_h=window.stride_h, stride_w=window.stride_w, pad_h=window.pad_h, pad_w=window.pad_w)


def _may_be_first(gemm: Gemm[Tensor], context: Context) -> bool:
    if gemm.groups != 1 or gemm.more_inputs or gemm.residual is not None or gemm.prologue is not None:
        return False
    sizes = [context.symbols.upper(size) for size in gemm.output.sizes]
    if 4 * sizes[1] * sizes[2] * sizes[3] <= context.options.target.cache:
        return False
    w = gemm.window
    axes = (
        (w.kernel_h, w.stride_h, w.pad_h, w.dilation_h),
        (w.kernel_w, w.stride_w, w.pad_w, w.dilation_w),
    )
    return all(
        same(out, window_count(size + 2 * padding - (kernel - 1) * dilation, stride))
        for size, out, (kernel, stride, padding, dilation) in zip(
            gemm.input.sizes[1:3], gemm.output.sizes[1:3], axes, strict=True
        )
    )


def _multiplications(
    expand: Gemm[Tensor], depthwise: DepthwiseConv2d[Tensor], project: Gemm[Tensor] | None
) -> int:
    """Returns the multiplications of both convolutions for each element of the first one's result."""
    depth = expand.channels * expand.window.kernel_h * expand.window.kernel_w
    outputs = 0 if project is None else project.outputs
    return depth + outputs // (depthwise.window.stride_h * depthwise.window.stride_w)


def _bottleneck(
    expand: Gemm[Tensor], depthwise: DepthwiseConv2d[Tensor], project: Gemm[Tensor] | None
) -> Bottleneck[Tensor]:
    return Bottleneck(
        input=expand.input,
        expand_weight=expand.weight,
        expand_bias=expand.bias,
        depthwise_weight=depthwise.weight,
        depthwise_bias=depthwise.bias,
        project_weight=None if project is None else project.weight,
        project_bias=None if project is None else project.bias,
        residual=None if project is None else project.residual,
        output=depthwise.output if project is None else project.output,
        expand=_part(expand),
        depthwise=BottleneckDepthwise(window=depthwise.window, epilogue=depthwise.epilogue),
        project=None if project is None else _part(project),
    )


def _part(gemm: Gemm[Tensor]) -> BottleneckConvolution:
    return BottleneckConvolution(
        window=gemm.window, channels=gemm.channels, outputs=gemm.outputs, epilogue=gemm.epilogue
    )
