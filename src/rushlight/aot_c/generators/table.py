"""The generators of all operators."""

from __future__ import annotations

from collections.abc import Mapping

from rushlight.aot_c.generators import (
    elementwise,
    indexing,
    pooling,
    products,
    quantization,
    quantized,
    reductions,
    resampling,
    shapes,
)
from rushlight.aot_c.kernel import Generator

GENERATORS: Mapping[str, Generator] = {
    **elementwise.GENERATORS,
    **shapes.GENERATORS,
    **indexing.GENERATORS,
    **reductions.GENERATORS,
    **products.GENERATORS,
    **pooling.GENERATORS,
    **resampling.GENERATORS,
    **quantization.GENERATORS,
    **quantized.GENERATORS,
}
"""For each operator with overload, such as `aten::add.out`, the function that writes its C."""
