"""The values of a method: tensors, numbers and the memory of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rushlight.aot_c.code import double_literal, float_literal, int_literal, literal
from rushlight.aot_c.dtypes import BOOL, C_TYPES, DOUBLE, FLOAT, LONG, SIXTEEN, compute_type, name_of, size_of
from rushlight.aot_c.errors import Unsupported
from rushlight.format.program import ScalarType


@dataclass(frozen=True)
class Region:
    """The range of bytes that a tensor uses.

    Attributes:
        space: the name of the memory; different memories never overlap.
        start: the offset of the first byte.
        end: the offset after the last byte.
    """

    space: str
    start: int
    end: int

    def overlaps(self, other: Region) -> bool:
        """Returns whether the two regions share a byte."""
        return self.space == other.space and self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class TensorValue:
    """A tensor with a static shape.

    Attributes:
        index: the index of the value in the plan.
        dtype: the element type.
        sizes: the shape.
        dim_order: the dims from the outermost to the innermost.
        pointer: the C expression for the address of the first element.
        region: the bytes that the tensor uses; None if a move instruction selects them at run time.
        is_constant: whether the tensor is a constant of the program.
        data: the bytes of a constant; None for other tensors.
    """

    index: int
    dtype: ScalarType
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    pointer: str
    region: Region | None
    is_constant: bool = False
    data: bytes | None = None

    @property
    def strides(self) -> tuple[int, ...]:
        """The stride of each dim, in elements."""
        strides, step = [0] * len(self.sizes), 1
        for axis in reversed(self.dim_order):
            strides[axis] = step
            step *= max(self.sizes[axis], 1)
        return tuple(strides)

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.sizes)

    @property
    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.sizes)

    @property
    def is_row_major(self) -> bool:
        """Whether the tensor is contiguous in row-major order."""
        wanted, step = [], 1
        for size in reversed(self.sizes):
            wanted.append(step)
            step *= max(size, 1)
        pairs = zip(self.strides, reversed(wanted), self.sizes, strict=True)
        return all(size <= 1 or stride == want for stride, want, size in pairs)

    @property
    def item_size(self) -> int:
        """The size of an element in bytes."""
        return size_of(self.dtype)

    def describe(self) -> str:
        """Describes the dtype and the shape, such as `float32[1, 16]`."""
        return f"{name_of(self.dtype)}{list(self.sizes)}"


@dataclass(frozen=True)
class Number:
    """A number, which is constant or computed at run time.

    Attributes:
        kind: `int`, `double` or `bool`.
        value: the constant; None if the number is computed at run time.
        name: the C variable of a computed number; its type is int64_t, double or bool.
    """

    kind: str
    value: int | float | bool | None
    name: str = ""

    @property
    def c_type(self) -> str:
        """The C type of the variable."""
        return {"int": "int64_t", "double": "double", "bool": "bool"}[self.kind]

    def constant(self, what: str) -> int | float | bool:
        """Returns the value of a constant; `what` names the number in the message.

        Raises:
            Unsupported: the number is computed at run time.
        """
        if self.value is None:
            raise Unsupported(f"{what} is computed at run time; only a constant is supported")
        return self.value

    def named(self, name: str) -> Number:
        """Returns the same number with another variable; a constant is returned unchanged."""
        return self if self.value is not None else Number(self.kind, None, name)

    def to(self, compute: ScalarType) -> str:
        """Converts the number to int64, float32, float64 or bool by the conversion rules of C."""
        if self.value is not None:
            value = self.value
            if compute == BOOL:
                return "true" if value != 0 else "false"
            if compute == LONG:
                return int_literal(_int64_of(value))
            if compute == FLOAT:
                return float_literal(value)
            return double_literal(float(value))
        if compute == BOOL:
            return self.name if self.kind == "bool" else f"({self.name} != 0)"
        return f"({ {LONG: 'int64_t', FLOAT: 'float', DOUBLE: 'double'}[compute] }){self.name}"

    def to_int(self, what: str) -> int:
        """Returns a constant as int64; `what` names the number in the message."""
        return _int64_of(self.constant(what))


def _int64_of(value: int | float | bool) -> int:
    if isinstance(value, float):
        if not -(2.0**63) <= value < 2.0**63:
            raise Unsupported(f"the number {value} is not a 64-bit integer")
        return int(value)
    return int(value)


def wrapped(value: int, dtype: ScalarType) -> int:
    """Wraps an integer around to the range of an integer type."""
    if dtype == BOOL:
        return int(value != 0)
    bits = 8 * size_of(dtype)
    value &= (1 << bits) - 1
    signed = not C_TYPES[dtype].startswith("u")
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def float16_value(value: float, dtype: ScalarType) -> float:
    """Rounds a float32 number to the nearest float16 or bfloat16 number."""
    import struct

    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if dtype == ScalarType.BFLOAT16:
        if math.isnan(value):
            return value
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16 & 0xFFFFFFFF
        return float(struct.unpack("<f", struct.pack("<I", bits))[0])
    try:
        return float(struct.unpack("<e", struct.pack("<e", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def number_in(number: Number, dtype: ScalarType) -> tuple[str, tuple[str, ...]]:
    """Converts a number to a dtype, and then to the compute type of the dtype.

    Returns:
        The C expression, and the names of the helpers that it calls.
    """
    from rushlight.aot_c.code import float32

    compute = compute_type(dtype)
    if number.value is not None:
        if compute == LONG:
            value = _int64_of(number.value)
            narrow = dtype in (ScalarType.BYTE, ScalarType.CHAR, ScalarType.SHORT, ScalarType.INT, BOOL)
            if dtype == BOOL:
                value = int(number.value != 0)
            return int_literal(wrapped(value, dtype) if narrow else value), ()
        if dtype in SIXTEEN:
            return float_literal(float16_value(float32(float(number.value)), dtype)), ()
        return literal(number.value, compute), ()
    if compute == LONG:
        if dtype == BOOL:
            return f"(int64_t){number.to(BOOL)}", ()
        if dtype in (ScalarType.BYTE, ScalarType.CHAR, ScalarType.SHORT, ScalarType.INT):
            return f"(int64_t)({C_TYPES[dtype]}){number.to(LONG)}", ()
        return number.to(LONG), ()
    if dtype == ScalarType.HALF:
        return f"half_to_float(float_to_half({number.to(FLOAT)}))", ("half_to_float", "float_to_half")
    if dtype == ScalarType.BFLOAT16:
        return (
            f"bfloat16_to_float(float_to_bfloat16({number.to(FLOAT)}))",
            ("bfloat16_to_float", "float_to_bfloat16"),
        )
    return number.to(compute), ()


Argument = TensorValue | Number | str | Sequence[object] | None
"""An argument of a call: a tensor, a number, a string, a list of these, or None."""
