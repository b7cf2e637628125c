"""Counts the operations and bytes of a plan's steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from rushlight.backends.cpu.plan import tables as t
from rushlight.backends.cpu.plan.evaluate import numbers
from rushlight.backends.cpu.plan.operation import Operation
from rushlight.format.elements import ELEMENT_SIZES
from rushlight.format.program import ScalarType

Shape = tuple[int, ...]
ShapeOf = Callable[[int], Shape]


@dataclass(frozen=True)
class Work:
    """The work of a step.

    Attributes:
        kind: the type of the operation.
        operations: multiplications plus additions of the direct algorithm; 0 for elementwise steps and steps
            that only move elements.
        bytes: the sum of the sizes of all operands, each counted once. A step must move at least this number
            of bytes.
        shape: the shape of the last output.
    """

    kind: type[Operation[int]]
    operations: int
    bytes: int
    shape: Shape


def work_of(plan: t.Plan) -> list[Work]:
    """Returns the work of every step, at the upper bounds of dynamic sizes."""
    sizes = numbers(plan)
    shapes = [tuple(sizes[index] for index in value.sizes) for value in plan.values]
    result = []
    for step in plan.steps:
        operation = step.operation
        used = {value for _, value in operation.operands()}
        moved = sum(_bytes(plan, value, shapes[value]) for value in used)
        outputs = shapes[operation.writes()[-1]]
        count = _operations(operation, outputs, shapes.__getitem__)
        result.append(Work(type(operation), count, moved, outputs))
    return result


def _bytes(plan: t.Plan, index: int, shape: Shape) -> int:
    value = plan.values[index]
    storage = plan.storages[value.storage]
    if storage.kind == t.StorageKind.CONSTANT:
        return storage.bytes
    return prod(shape) * ELEMENT_SIZES[ScalarType(value.dtype)]


def _operations(operation: Operation[int], output: Shape, shape: ShapeOf) -> int:
    outputs = prod(output)
    if isinstance(operation, (t.Gemm, t.Int8Gemm)):
        return 2 * outputs * _taps(operation.window) * operation.channels
    if isinstance(operation, (t.WeightOnlyGemm, t.Int4Gemm, t.BlockGemm)):
        return 2 * outputs * operation.channels
    if isinstance(operation, t.Winograd):
        return 2 * outputs * 9 * operation.channels
    if isinstance(operation, (t.DepthwiseConv2d, t.Int8DepthwiseConv2d)):
        return 2 * outputs * _taps(operation.window)
    if isinstance(operation, t.Int8GroupedConv2d):
        return 2 * outputs * _taps(operation.window) * operation.channels
    if isinstance(operation, t.GroupedConv2d):
        return 2 * outputs * _taps(operation.window) * (shape(operation.input)[-1] // operation.groups)
    if isinstance(operation, t.Bottleneck):
        return _bottleneck(operation, shape(operation.input), output)
    if isinstance(operation, t.MatMul):
        return 2 * outputs * shape(operation.a)[-1]
    if isinstance(operation, t.Attention):
        return _attention(operation, shape)
    if isinstance(operation, (t.Recurrent, t.WeightOnlyRecurrent)):
        *times, columns = shape(operation.projected)
        return 2 * prod(times) * columns * operation.hidden
    return 0


def _taps(window: t.Window) -> int:
    return window.kernel_h * window.kernel_w


def _attention(operation: t.Attention[int], shape: ShapeOf) -> int:
    query, key, value = (shape(index) for index in (operation.query, operation.key, operation.value))
    keys = key[2] + (0 if operation.key_tail is None else shape(operation.key_tail)[2])
    return 2 * prod(query[:3]) * keys * (query[3] + value[3])


def _bottleneck(operation: t.Bottleneck[int], source: Shape, output: Shape) -> int:
    expand, window = operation.expand, operation.expand.window
    height = (source[1] + 2 * window.pad_h - (window.kernel_h - 1) * window.dilation_h - 1) // window.stride_h
    width = (source[2] + 2 * window.pad_w - (window.kernel_w - 1) * window.dilation_w - 1) // window.stride_w
    first = source[0] * (height + 1) * (width + 1) * expand.outputs * _taps(window) * expand.channels
    depthwise = prod(output[:3]) * expand.outputs * _taps(operation.depthwise.window)
    project = prod(output) * expand.outputs if operation.project is not None else 0
    return 2 * (first + depthwise + project)
