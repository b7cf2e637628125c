"""The tables of a payload as dataclasses, field by field as in `schema/cpu_plan.fbs`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

NONE = 0xFFFFFFFF  # no value
VERSION = 1


class StorageKind(IntEnum):
    ARENA = 0
    ARGUMENT = 1
    CONSTANT = 2
    STATE = 3


class StepKind(IntEnum):
    """What a step does; `values`, `ints` and `floats` of each are described where it runs."""

    PRODUCT = 1
    WINOGRAD = 2
    DEPTHWISE = 3
    POOL = 4
    ELEMENTWISE = 5
    COPY = 6
    REDUCE = 7
    SOFTMAX = 8
    NORMALIZE = 9
    ATTENTION = 10
    MATRIX_PRODUCT = 11
    GATHER = 12
    RECURRENT = 13
    COMBINE = 14
    SELECT = 15
    SCATTER = 16
    BOTTLENECK = 17
    GROUP_SCALES = 18
    RESAMPLE = 19
    BLOCK_PRODUCT = 20
    BYTE_PRODUCT = 32
    BYTE_DEPTHWISE = 33
    BYTE_POOL = 34
    BYTE_MEAN = 35
    BYTE_BINARY = 36
    BYTE_MAP = 37
    QUANTIZE = 38
    DEQUANTIZE = 39
    QUANTIZE_ROWS = 40
    SCALED_PRODUCT = 41
    NIBBLE_PRODUCT = 42
    SCALED_GATHER = 43
    CONVERT = 44


@dataclass(frozen=True)
class Effects:
    """What steps of a kind do to their operands.

    first_output: the place of the first operand that is written; so are all behind it, and those before are
    read. in_place: places of operands whose memory the only output may take, if they lie as it does: an
    element is read before the one at its place is written, and not after that. keeps: whether the step writes
    some elements of its output and leaves the others as they are.
    """

    first_output: int = -1
    in_place: range = range(0)
    keeps: bool = False


_RESIDUAL = Effects(in_place=range(3, 4))
_FIRST = Effects(in_place=range(0, 1))

EFFECTS: dict[StepKind, Effects] = {
    StepKind.PRODUCT: _RESIDUAL,
    StepKind.WINOGRAD: _RESIDUAL,
    StepKind.DEPTHWISE: Effects(),
    StepKind.POOL: Effects(),
    StepKind.ELEMENTWISE: Effects(in_place=range(0, 64)),
    StepKind.COPY: Effects(),
    StepKind.REDUCE: Effects(),
    StepKind.SOFTMAX: _FIRST,
    StepKind.NORMALIZE: _FIRST,
    StepKind.ATTENTION: Effects(),
    StepKind.MATRIX_PRODUCT: Effects(),
    StepKind.GATHER: Effects(),
    StepKind.RECURRENT: Effects(first_output=5),
    StepKind.COMBINE: Effects(),
    StepKind.SELECT: Effects(),
    StepKind.SCATTER: Effects(keeps=True),
    StepKind.BOTTLENECK: Effects(in_place=range(7, 8)),
    StepKind.GROUP_SCALES: Effects(first_output=3),
    StepKind.RESAMPLE: Effects(),
    StepKind.BLOCK_PRODUCT: _RESIDUAL,
    StepKind.BYTE_PRODUCT: _RESIDUAL,
    StepKind.BYTE_DEPTHWISE: Effects(),
    StepKind.BYTE_POOL: Effects(),
    StepKind.BYTE_MEAN: Effects(),
    StepKind.BYTE_BINARY: Effects(in_place=range(0, 2)),
    StepKind.BYTE_MAP: Effects(),
    StepKind.QUANTIZE: Effects(),
    StepKind.DEQUANTIZE: Effects(),
    StepKind.QUANTIZE_ROWS: Effects(first_output=1),
    StepKind.SCALED_PRODUCT: _RESIDUAL,
    StepKind.NIBBLE_PRODUCT: _RESIDUAL,
    StepKind.SCALED_GATHER: Effects(),
    StepKind.CONVERT: Effects(),
}


@dataclass
class Expression:
    """A number in postfix notation."""

    code: list[int] = field(default_factory=list)


@dataclass
class Symbol:
    """A number read from an argument when the delegate is called."""

    argument: int = 0
    axis: int = 0
    factor: int = 1
    shift: int = 0
    lower: int = 0
    upper: int = 0


@dataclass
class Storage:
    """A piece of memory, in bytes."""

    kind: StorageKind = StorageKind.ARENA
    bytes: int = 0
    offset: int = 0
    index: int = 0
    name: str = ""


@dataclass
class Value:
    """A strided view of a storage; numbers are indices of expressions."""

    storage: int = 0
    dtype: int = 0
    offset: int = 0
    sizes: list[int] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)


@dataclass
class Argument:
    """An argument of the delegate."""

    value: int = NONE
    is_output: bool = False


@dataclass
class Step:
    """A unit of work."""

    kind: int = 0
    values: list[int] = field(default_factory=list)
    ints: list[int] = field(default_factory=list)
    floats: list[float] = field(default_factory=list)
    debug_handle: int = 0


@dataclass
class Plan:
    """A whole plan."""

    version: int = VERSION
    target: str = ""
    vector_floats: int = 0
    panel_floats: int = 0
    expressions: list[Expression] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    arena_bytes: int = 0

    def numbers(self) -> list[int]:
        """The value of each expression, at the upper bounds of all symbols."""
        symbols = [symbol.upper for symbol in self.symbols]
        return [_evaluate(expression.code, symbols) for expression in self.expressions]


def _evaluate(code: list[int], symbols: list[int]) -> int:
    """The value of an expression: see schema/cpu_plan.fbs."""
    stack: list[int] = []
    at = 0
    while at < len(code):
        op = code[at]
        at += 1
        if op < 2:
            stack.append(code[at] if op == 0 else symbols[code[at]])
            at += 1
            continue
        b, a = stack.pop(), stack.pop()
        stack.append((a + b, a * b, a // b if b else 0, a % b if b else 0, max(a, b), min(a, b))[op - 2])
    return stack[-1]
