"""Sizes of tensors in bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rushlight.format.program import ScalarType

# Types with two or four elements in a byte are not in this table.
ELEMENT_SIZES: Mapping[ScalarType, int] = {
    ScalarType.BYTE: 1,
    ScalarType.CHAR: 1,
    ScalarType.SHORT: 2,
    ScalarType.INT: 4,
    ScalarType.LONG: 8,
    ScalarType.HALF: 2,
    ScalarType.FLOAT: 4,
    ScalarType.DOUBLE: 8,
    ScalarType.COMPLEX32: 4,
    ScalarType.COMPLEX64: 8,
    ScalarType.COMPLEX128: 16,
    ScalarType.BOOL: 1,
    ScalarType.QINT8: 1,
    ScalarType.QUINT8: 1,
    ScalarType.QINT32: 4,
    ScalarType.BFLOAT16: 2,
    ScalarType.BITS16: 2,
    ScalarType.FLOAT8E5M2: 1,
    ScalarType.FLOAT8E4M3FN: 1,
    ScalarType.FLOAT8E5M2FNUZ: 1,
    ScalarType.FLOAT8E4M3FNUZ: 1,
    ScalarType.UINT16: 2,
    ScalarType.UINT32: 4,
    ScalarType.UINT64: 8,
}


def tensor_nbytes(scalar_type: ScalarType, sizes: Sequence[int]) -> int | None:
    """Returns the size in bytes of a dense tensor, or None for elements smaller than a byte.

    Args:
        scalar_type: the element type.
        sizes: the sizes of the dimensions, which must not be negative.
    """
    element_size = ELEMENT_SIZES.get(scalar_type)
    return None if element_size is None else element_size * math.prod(sizes)
