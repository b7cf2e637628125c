"""The options of a CPU partition."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, get_args

import torch

from rushlight.backends.cpu.target import Target

Float32MatmulPrecision = Literal["highest", "high"]
"""The precision of float32 products and convolutions, as in torch.set_float32_matmul_precision."""
HIGHEST: Float32MatmulPrecision = "highest"


def chosen_precision(precision: Float32MatmulPrecision, exact: bool | None) -> Float32MatmulPrecision:
    """Returns the precision that the options select.

    Args:
        precision: the option float32_matmul_precision.
        exact: the deprecated option. True selects "highest", False selects "high", None selects `precision`.
    """
    if exact is None:
        return precision
    chosen: Float32MatmulPrecision = "highest" if exact else "high"
    warnings.warn(
        f'exact={exact} is deprecated: use float32_matmul_precision="{chosen}"',
        DeprecationWarning,
        stacklevel=3,
    )
    return chosen


@dataclass(frozen=True)
class Options:
    """The options of a partition.

    Attributes:
        target: the instruction set.
        float32_matmul_precision: "highest" computes in full float32; "high" allows block floating-point
            products and less precise Winograd algorithms.
        compact: whether Winograd weights are stored untransformed, and transformed when the plan is loaded.
        weights: the 16-bit dtype in which float32 weights are stored, or None for float32. 16-bit weights of
            the program keep their dtype.

    Raises:
        ValueError: the precision is unknown.
    """

    target: Target
    float32_matmul_precision: str = HIGHEST
    compact: bool = False
    weights: torch.dtype | None = None

    def __post_init__(self) -> None:
        if self.float32_matmul_precision not in get_args(Float32MatmulPrecision):
            raise ValueError(
                f"float32_matmul_precision is 'highest' or 'high', not {self.float32_matmul_precision!r}"
            )

    @property
    def is_highest(self) -> bool:
        """Whether float32 products and convolutions are computed in full float32."""
        return self.float32_matmul_precision == HIGHEST
