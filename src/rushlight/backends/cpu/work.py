"""What the steps of a plan compute and move."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from rushlight.backends.cpu.graph import NONE, Plan, StepKind, StorageKind

_ITEM_BYTES = {
    0: 1,
    1: 1,
    3: 4,
    4: 8,
    5: 2,
    6: 4,
    11: 1,
    15: 2,
}  # of the dtypes that plans have, as numbered in a program file


@dataclass(frozen=True)
class Work:
    """operations: multiplications and additions, each counted, of the plain algorithm; 0 of steps that only
    move or map. bytes: of all operands, each once, and so the least that can be moved."""

    kind: StepKind
    operations: int
    bytes: int
    shape: tuple[int, ...]
    """Of the output."""


def work_of(plan: Plan) -> list[Work]:
    """That of every step, at the upper bounds of dynamic sizes."""
    numbers = plan.numbers()
    shapes = [tuple(numbers[index] for index in value.sizes) for value in plan.values]
    result = []
    for step in plan.steps:
        used = [index for index in step.values if index != NONE]
        moved = sum(_bytes(plan, index, shapes[index]) for index in set(used))
        kind = StepKind(step.kind)
        operations = _operations(kind, [shapes[index] for index in used], step.ints)
        if kind is StepKind.ATTENTION and len(step.values) > 6 and step.values[4] != NONE:
            operations += operations // shapes[step.values[1]][2] * shapes[step.values[4]][2]
        result.append(Work(kind, operations, moved, shapes[used[-1]]))
    return result


def _bytes(plan: Plan, index: int, shape: tuple[int, ...]) -> int:
    value = plan.values[index]
    storage = plan.storages[value.storage]
    if storage.kind == StorageKind.CONSTANT:
        return storage.bytes
    return prod(shape) * _ITEM_BYTES[value.dtype]


def _operations(kind: StepKind, shapes: list[tuple[int, ...]], ints: list[int]) -> int:
    outputs = prod(shapes[-1])
    if kind in (StepKind.PRODUCT, StepKind.BYTE_PRODUCT):
        return 2 * outputs * ints[0] * ints[1] * ints[9]
    if kind in (StepKind.SCALED_PRODUCT, StepKind.NIBBLE_PRODUCT, StepKind.BLOCK_PRODUCT):
        return 2 * outputs * shapes[0][-1]
    if kind is StepKind.WINOGRAD:
        return 2 * outputs * 9 * ints[3]
    if kind in (StepKind.DEPTHWISE, StepKind.BYTE_DEPTHWISE):
        return 2 * outputs * ints[0] * ints[1]
    if kind is StepKind.BOTTLENECK:
        return _bottleneck(shapes[0], outputs, shapes[-1], ints)
    if kind is StepKind.MATRIX_PRODUCT:
        return 2 * outputs * shapes[0][-1]
    if kind is StepKind.ATTENTION:
        query, key, value, *_ = shapes
        return 2 * prod(query[:3]) * key[2] * (query[3] + value[3])
    if kind is StepKind.RECURRENT:
        *times, columns = shapes[0]
        return 2 * prod(times) * columns * ints[1]
    return 0


def _bottleneck(source: tuple[int, ...], outputs: int, shape: tuple[int, ...], ints: list[int]) -> int:
    """ints: of a convolution (window, channels, outputs, 2 more), a depthwise one, perhaps a product."""
    kernel, stride, padding, dilation = ints[0:2], ints[2:4], ints[4:6], ints[6:8]
    between = prod(
        (size + 2 * p - (k - 1) * d - 1) // s + 1
        for size, k, s, p, d in zip(source[1:3], kernel, stride, padding, dilation, strict=True)
    )
    channels, expanded = ints[8:10]
    pixels = prod(shape[:3])
    product = outputs * expanded if len(ints) > 22 else 0
    first = source[0] * between * expanded * prod(kernel) * channels
    return 2 * (first + pixels * expanded * ints[12] * ints[13] + product)
