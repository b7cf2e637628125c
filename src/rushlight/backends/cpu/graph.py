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
