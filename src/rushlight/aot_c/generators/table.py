"""The table of the generators of all operators."""

from __future__ import annotations

from collections.abc import Mapping

from rushlight.aot_c.generators import (
    activations,
    arithmetic,
    comparisons,
    convolution,
    fills,
    functions,
    gemm,
    indexing,
    normalization,
    pooling,
    quantization,
    quantized,
    reductions,
    resampling,
    shapes,
    statistics,
)
from rushlight.aot_c.kernel import Generator

GENERATORS: Mapping[str, Generator] = {
    **functions.GENERATORS,
    **arithmetic.GENERATORS,
    **comparisons.GENERATORS,
    **activations.GENERATORS,
    **shapes.GENERATORS,
    **fills.GENERATORS,
    **indexing.GENERATORS,
    **reductions.GENERATORS,
    **statistics.GENERATORS,
    **normalization.GENERATORS,
    **gemm.GENERATORS,
    **convolution.GENERATORS,
    **pooling.GENERATORS,
    **resampling.GENERATORS,
    **quantization.GENERATORS,
    **quantized.GENERATORS,
}
"""For each operator overload, such as `aten::add.out`, the function that writes its C code."""
