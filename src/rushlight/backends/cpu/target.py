"""Instruction sets for which plans can be made."""

from __future__ import annotations

import os
import platform
import warnings
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """The tile shapes of an instruction set; they match runtime/microkernels/tables.

    vector: floats in a vector. panel: columns in a panel of packed weights. rows: rows of a tile. cache: the
    bytes of second level cache that a plan may use. weight_bytes: bytes per cycle at which weights are read
    from memory, because a network does not fit the caches. int8_lanes, int8_group: the sums in a vector of
    8-bit products, and the numbers of a column that are adjacent; a panel has two vectors. small_pair_group:
    int8_group for weights whose pairs have small sums (see runtime/microkernels/gemm/int8_small_sums.h), or 0
    if that is not faster. has_block_products: whether int16 products are faster than float32 products.
    """

    name: str
    vector: int
    panel: int
    rows: int
    cache: int = 512 * 1024
    weight_bytes: float = 5.0
    int8_lanes: int = 4
    int8_group: int = 2
    small_pair_group: int = 0
    has_block_products: bool = False


TARGETS = {
    target.name: target
    for target in (
        Target("generic", 4, 8, 6),
        Target("avx2", 8, 16, 6, weight_bytes=2.5, int8_lanes=8, small_pair_group=4, has_block_products=True),
        Target("avx512", 16, 32, 14, cache=1024 * 1024, int8_lanes=16, int8_group=4, has_block_products=True),
        Target("neon", 4, 12, 8, int8_group=4),
        Target("rvv", 4, 12, 8),
        Target("rvv256", 8, 24, 8, int8_lanes=8),
    )
}

# Instruction sets with 8-bit products, and the corresponding instruction set for floats.
_FLOATS = {"avx512vnni": "avx512", "avxvnni": "avx2", "neon_i8mm": "neon", "neon_dotprod": "neon"}


def target_named(name: str) -> Target:
    """Returns the target with a name. Raises ValueError with all names if there is none."""
    if name not in TARGETS:
        raise ValueError(f"no target {name!r} for CpuBackend; there are {', '.join(TARGETS)}")
    return TARGETS[name]


def host_target() -> Target:
    """Returns the target of this machine, or the lesser instruction set in RUSHLIGHT_ISA.

    It warns if RUSHLIGHT_ISA names no instruction set.
    """
    wanted = os.environ.get("RUSHLIGHT_ISA", "")
    wanted = _FLOATS.get(wanted, wanted)
    if wanted in TARGETS:
        return TARGETS[wanted]
    if wanted:
        names = ", ".join([*TARGETS, *_FLOATS])
        warnings.warn(
            f"RUSHLIGHT_ISA={wanted} names no instruction set and has no effect; the names are {names}",
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
