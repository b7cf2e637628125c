"""The values of a method as generators see them."""

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
    """Where the bytes of a tensor lie.

    Attributes:
        space: a name; bytes of different spaces never overlap.
        start: the first byte.
        end: the byte after the last one.
    """

    space: str
    start: int
    end: int

    def overlaps(self, other: Region) -> bool:
        """Whether both have a byte in common."""
        return self.space == other.space and self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class TensorValue:
    """A tensor of a static shape.

    Attributes:
        index: the index of the value.
        dtype: the element type.
        sizes: the shape.
        dim_order: the dims from outermost to innermost.
        pointer: the expression of the first element's address.
        region: where its bytes lie; None if a move decides this at run time.
        is_constant: whether nothing writes it.
        data: the bytes of a constant.
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
        """The elements between neighbours in each dim."""
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
        """The bytes of an element."""
        return size_of(self.dtype)

    def describe(self) -> str:
        """The dtype and the shape, such as `float32[1, 16]`."""
        return f"{name_of(self.dtype)}{list(self.sizes)}"


@dataclass(frozen=True)
class Number:
    """A number, which is constant or computed at run time.

    Attributes:
        kind: `int`, `double` or `bool`.
        value: the constant; None if it is computed.
        name: the C variable of a computed one, of type int64_t, double or bool.
    """

    kind: str
    value: int | float | bool | None
    name: str = ""

    @property
    def c_type(self) -> str:
        """The C type of the variable."""
        return {"int": "int64_t", "double": "double", "bool": "bool"}[self.kind]

    def constant(self, what: str) -> int | float | bool:
        """The constant.

        Raises:
            Unsupported: the number is computed at run time.
        """
        if self.value is None:
            raise Unsupported(f"{what} is computed at run time")
        return self.value

    def named(self, name: str) -> Number:
        """The same number in another variable."""
        return self if self.value is not None else Number(self.kind, None, name)

    def to(self, compute: ScalarType) -> str:
        """The expression of the number as int64, float32, float64 or bool, by the rules of C."""
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
        """The constant as int64."""
        return _int64_of(self.constant(what))


def _int64_of(value: int | float | bool) -> int:
    if isinstance(value, float):
        if not -(2.0**63) <= value < 2.0**63:
            raise Unsupported(f"the number {value} is no 64-bit integer")
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
    """The nearest number of float16 or bfloat16 to a float32."""
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
    """A number in the compute type of a dtype, after it is converted to the dtype.

    Returns:
        The expression and the helpers that it calls.
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
"""An argument of a call: a tensor, a number, a text, a list of these, or nothing."""
