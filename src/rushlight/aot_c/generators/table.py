"""The table of the generators of all operators."""

from __future__ import annotations

from collections.abc import Mapping

from rushlight.aot_c.generators import (
    activations,
    advanced_indexing,
    arithmetic,
    columns,
    comparisons,
    complex_numbers,
    convolution,
    dynamic,
    embedding_bags,
    fills,
    floating_parts,
    functions,
    gemm,
    indexing,
    normalization,
    norms,
    pooling,
    quantization,
    quantized,
    reductions,
    resampling,
    sampling,
    scans,
    scattering,
    searching,
    shapes,
    sorting,
    spectra,
    statistics,
)
from rushlight.aot_c.generators.complex_numbers import COMPLEX_GENERATORS, with_complex
from rushlight.aot_c.kernel import Generator

_REAL_OR_COMPLEX: Mapping[str, Generator] = {
    **functions.GENERATORS,
    **floating_parts.GENERATORS,
    **arithmetic.GENERATORS,
    **comparisons.GENERATORS,
    **activations.GENERATORS,
    **shapes.GENERATORS,
    **fills.GENERATORS,
    **indexing.GENERATORS,
    **embedding_bags.GENERATORS,
    **advanced_indexing.GENERATORS,
    **scattering.GENERATORS,
    **searching.GENERATORS,
    **reductions.GENERATORS,
    **scans.GENERATORS,
    **sorting.GENERATORS,
    **statistics.GENERATORS,
    **norms.GENERATORS,
    **normalization.GENERATORS,
    **gemm.GENERATORS,
    **convolution.GENERATORS,
    **pooling.GENERATORS,
    **resampling.GENERATORS,
    **sampling.GENERATORS,
    **columns.GENERATORS,
    **quantization.GENERATORS,
    **quantized.GENERATORS,
    **dynamic.GENERATORS,
    **complex_numbers.GENERATORS,
    **spectra.GENERATORS,
}

GENERATORS: Mapping[str, Generator] = {
    name: with_complex(generate, COMPLEX_GENERATORS[name]) if name in COMPLEX_GENERATORS else generate
    for name, generate in _REAL_OR_COMPLEX.items()
}
"""For each operator overload, such as `aten::add.out`, the function that writes its C code."""
