"""The instruction sets for which plans can be made."""

from __future__ import annotations

import os
import platform
import warnings
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """The tile shapes and costs of an instruction set; the shapes match runtime/microkernels/tables.

    Attributes:
        name: the name of the instruction set.
        vector: float32 numbers in a vector register.
        panel: columns in a panel of packed weights.
        rows: rows of a tile.
        cache: bytes of the second level cache that a plan may use.
        weight_bytes: bytes of weights that are read per cycle. Weights are read from memory, because those
            of a whole network do not fit the caches.
        transform_cycles: cycles of Winograd's input and output transforms, per point and vector of numbers.
            They include a margin: if Winograd's algorithm and a direct convolution take about the same time,
            the convolution is computed directly, because its weights need less memory.
        int8_lanes: int32 sums in a vector register of 8-bit products. A panel has two such vectors.
        int8_group: adjacent numbers of one column in packed 8-bit weights.
        small_pair_group: `int8_group` for weights whose pairs have small sums (see
            runtime/microkernels/gemm/int8_small_sums.h); 0 if such a packing is not faster.
        has_block_gemm: whether int16 products are faster than float32 products.
    """

    name: str
    vector: int
    panel: int
    rows: int
    cache: int = 512 * 1024
    weight_bytes: float = 5.0
    transform_cycles: float = 1.1
    int8_lanes: int = 4
    int8_group: int = 2
    small_pair_group: int = 0
    has_block_gemm: bool = False


TARGETS = {
    target.name: target
    for target in (
        Target("generic", 4, 8, 6),
        Target(
            "avx2",
            8,
            16,
            6,
            weight_bytes=2.5,
            transform_cycles=5.0,
            int8_lanes=8,
            small_pair_group=4,
            has_block_gemm=True,
        ),
        Target("avx512", 16, 32, 14, cache=1024 * 1024, int8_lanes=16, int8_group=4, has_block_gemm=True),
        Target("neon", 4, 12, 8, int8_group=4),
        Target("rvv", 4, 12, 8),
        Target("rvv256", 8, 24, 8, int8_lanes=8),
    )
}

# Instruction sets with 8-bit products, and for each the target with its float32 instructions.
_BASE_TARGETS = {
    "avx512amx": "avx512",
    "avx512vnni": "avx512",
    "avxvnni": "avx2",
    "neon_i8mm": "neon",
    "neon_dotprod": "neon",
}


def target_named(name: str) -> Target:
    """Returns the target with a name.

    Raises:
        ValueError: there is no such target. The message lists all names.
    """
    if name not in TARGETS:
        raise ValueError(f"CpuBackend has no target {name!r}; the targets are {', '.join(TARGETS)}")
    return TARGETS[name]


def host_target() -> Target:
    """Returns the target for the instruction set in RUSHLIGHT_ISA, or else for this machine.

    The function warns if RUSHLIGHT_ISA does not name an instruction set.
    """
    isa = os.environ.get("RUSHLIGHT_ISA", "")
    isa = _BASE_TARGETS.get(isa, isa)
    if isa in TARGETS:
        return TARGETS[isa]
    if isa:
        names = ", ".join([*TARGETS, *_BASE_TARGETS])
        warnings.warn(
            f"RUSHLIGHT_ISA={isa} names no instruction set and has no effect; the names are {names}",
            stacklevel=2,
        )
    machine = platform.machine().lower()
    if machine in ("aarch64", "arm64"):
        return TARGETS["neon"]
    if machine not in ("x86_64", "amd64"):
        return TARGETS["generic"]
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return TARGETS["avx2"]
    flags = set(next((line for line in text.splitlines() if line.startswith("flags")), "").split())
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
        return TARGETS["avx512"]
    return TARGETS["avx2"] if {"avx2", "fma", "f16c"} <= flags else TARGETS["generic"]
