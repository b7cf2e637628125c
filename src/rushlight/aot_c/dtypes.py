"""Element types in C, compute types, and the dtype promotion rules of the portable kernels."""

from __future__ import annotations

from collections.abc import Iterable

from rushlight.aot_c.errors import Unsupported
from rushlight.format.dtypes import DTYPE_NAMES
from rushlight.format.program import ScalarType

# The types of elements. A float16 or bfloat16 element is passed as its 16 bits.
C_TYPES: dict[ScalarType, str] = {
    ScalarType.BYTE: "uint8_t",
    ScalarType.CHAR: "int8_t",
    ScalarType.SHORT: "int16_t",
    ScalarType.INT: "int32_t",
    ScalarType.LONG: "int64_t",
    ScalarType.HALF: "uint16_t",
    ScalarType.FLOAT: "float",
    ScalarType.DOUBLE: "double",
    ScalarType.BOOL: "uint8_t",
    ScalarType.BFLOAT16: "uint16_t",
    ScalarType.UINT16: "uint16_t",
    ScalarType.UINT32: "uint32_t",
    ScalarType.UINT64: "uint64_t",
    ScalarType.COMPLEX64: "float _Complex",
    ScalarType.COMPLEX128: "double _Complex",
}

# The element types inside the generated file. These typedefs may alias other types, because tensors of
# different dtypes use the same bytes of planned memory, one after another.
ELEMENTS: dict[ScalarType, str] = {
    ScalarType.BYTE: "u8",
    ScalarType.CHAR: "i8",
    ScalarType.SHORT: "i16",
    ScalarType.INT: "i32",
    ScalarType.LONG: "i64",
    ScalarType.HALF: "f16",
    ScalarType.FLOAT: "f32",
    ScalarType.DOUBLE: "f64",
    ScalarType.BOOL: "b8",
    ScalarType.BFLOAT16: "bf16",
    ScalarType.UINT16: "u16",
    ScalarType.UINT32: "u32",
    ScalarType.UINT64: "u64",
    ScalarType.COMPLEX64: "c64",
    ScalarType.COMPLEX128: "c128",
}

LONG, FLOAT, DOUBLE, BOOL = ScalarType.LONG, ScalarType.FLOAT, ScalarType.DOUBLE, ScalarType.BOOL
HALF, BFLOAT16 = ScalarType.HALF, ScalarType.BFLOAT16
SIXTEEN = frozenset({HALF, BFLOAT16})
FLOATING = frozenset({HALF, BFLOAT16, FLOAT, DOUBLE})
INTEGERS = frozenset({ScalarType.BYTE, ScalarType.CHAR, ScalarType.SHORT, ScalarType.INT, LONG})
WIDE_UNSIGNED = frozenset({ScalarType.UINT16, ScalarType.UINT32, ScalarType.UINT64})
PARTS = {ScalarType.COMPLEX64: FLOAT, ScalarType.COMPLEX128: DOUBLE}
"""The complex dtypes, with the dtype of the real and the imaginary part."""
BYTES = frozenset({ScalarType.BYTE, ScalarType.CHAR})

_SIZES = {
    **dict.fromkeys((ScalarType.BYTE, ScalarType.CHAR, BOOL), 1),
    **dict.fromkeys((ScalarType.SHORT, HALF, BFLOAT16, ScalarType.UINT16), 2),
    **dict.fromkeys((ScalarType.INT, FLOAT, ScalarType.UINT32), 4),
    **dict.fromkeys((LONG, DOUBLE, ScalarType.UINT64, ScalarType.COMPLEX64), 8),
    ScalarType.COMPLEX128: 16,
}


def name_of(dtype: ScalarType) -> str:
    """Returns the name of a dtype for messages."""
    return DTYPE_NAMES.get(dtype, ScalarType(dtype).name.lower())


def size_of(dtype: ScalarType) -> int:
    """Returns the size of an element in bytes."""
    return _SIZES[dtype]


def part_type(dtype: ScalarType) -> ScalarType:
    """Returns the dtype of the parts of a complex dtype; for other dtypes the dtype itself."""
    return PARTS.get(dtype, dtype)


def parts_of(dtype: ScalarType) -> int:
    """Returns the number of parts of an element: 2 if the dtype is complex, else 1."""
    return 2 if dtype in PARTS else 1


def compute_type(dtype: ScalarType) -> ScalarType:
    """Returns the type in which kernels compute on elements of a dtype: int64, float32 or float64.

    Raises:
        Unsupported: kernels do not compute on this dtype.
    """
    if dtype in (HALF, BFLOAT16, FLOAT):
        return FLOAT
    if dtype == DOUBLE:
        return DOUBLE
    if dtype not in C_TYPES or dtype in PARTS:
        raise Unsupported(f"arithmetic on {name_of(dtype)} is not supported")
    return LONG


def c_compute(compute: ScalarType) -> str:
    """Returns the C type of a compute type, of a complex dtype or of bool."""
    return C_TYPES[compute] if compute != BOOL else "bool"


def is_integral(dtype: ScalarType) -> bool:
    """Returns whether a dtype is an integer type. Bool is not an integer type."""
    return dtype in INTEGERS or dtype in WIDE_UNSIGNED


def _category(dtype: ScalarType) -> int:
    if dtype in PARTS:
        return 3
    return 2 if dtype in FLOATING else 0 if dtype == BOOL else 1


def _wider(a: ScalarType, b: ScalarType) -> ScalarType:
    return a if size_of(a) >= size_of(b) else b


def promote(a: ScalarType, b: ScalarType) -> ScalarType:
    """Returns the same dtype as torch.promote_types."""
    if a == b:
        return a
    if _category(a) < _category(b):
        a, b = b, a
    if _category(a) != _category(b):
        return ScalarType.COMPLEX128 if a in PARTS and b == DOUBLE else a
    if a in PARTS:
        return _wider(a, b)
    if a in FLOATING:
        return FLOAT if size_of(a) == size_of(b) else _wider(a, b)
    if a in WIDE_UNSIGNED or b in WIDE_UNSIGNED:
        return _wider(a, b) if a in WIDE_UNSIGNED and b in WIDE_UNSIGNED else LONG
    if ScalarType.BYTE in (a, b):
        return _wider(ScalarType.SHORT, _wider(a, b))
    return _wider(a, b)


def _complex_of(part: ScalarType) -> ScalarType:
    if part in SIXTEEN:
        return ScalarType.COMPLEX32
    return ScalarType.COMPLEX128 if part == DOUBLE else ScalarType.COMPLEX64


def result_type(tensors: Iterable[tuple[ScalarType, int]], numbers: Iterable[str] = ()) -> ScalarType:
    """Returns the same dtype as torch.result_type.

    Args:
        tensors: the dtype and the rank of each tensor.
        numbers: the kind of each number: `int`, `double` or `bool`.
    """
    levels: list[ScalarType | None] = [None, None, None]

    def merge(level: int, dtype: ScalarType) -> None:
        known = levels[level]
        levels[level] = dtype if known is None else promote(known, dtype)

    for dtype, rank in tensors:
        merge(0 if rank > 0 else 1, dtype)
    for kind in numbers:
        merge(2, {"double": FLOAT, "bool": BOOL, "int": LONG}[kind])
    result = levels[0]
    for lower in levels[1:]:
        if lower is None:
            continue
        if result is None:
            result = lower
        elif lower in PARTS and result in FLOATING:
            result = _complex_of(result)
        elif _category(lower) > _category(result):
            result = promote(result, lower)
    assert result is not None
    return result


def float_result(dtype: ScalarType) -> ScalarType:
    """Returns the result dtype of a floating-point function: float32 for integers and bool."""
    return dtype if dtype in FLOATING or dtype in PARTS else FLOAT


def narrows(stored: ScalarType, common: ScalarType) -> bool:
    """Returns whether a conversion to `common`, which has the same compute type, may change a value."""
    if stored == common:
        return False
    if common in SIXTEEN:
        return stored != BOOL
    if not is_integral(stored) or not is_integral(common):
        return False
    return size_of(stored) >= size_of(common) or common == ScalarType.BYTE
