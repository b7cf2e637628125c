"""How a part is planned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, get_args

import torch

from rushlight.backends.cpu.target import Target

Float32MatmulPrecision = Literal["highest", "high"]
"""How precise float32 products and convolutions are, in the words of torch.set_float32_matmul_precision."""
HIGHEST: Float32MatmulPrecision = "highest"


def chosen_precision(precision: Float32MatmulPrecision, exact: bool | None) -> Float32MatmulPrecision:
    """The precision that a caller chose, who may still name it by the deprecated option `exact`."""
    if exact is None:
        return precision
    chosen: Float32MatmulPrecision = "highest" if exact else "high"
    warnings.warn(
        f'exact={exact} is deprecated: say float32_matmul_precision="{chosen}"',
        DeprecationWarning,
        stacklevel=3,
    )
    return chosen


@dataclass(frozen=True)
class Options:
    """How a part is planned.

    float32_matmul_precision: "highest" keeps full float32; "high" allows block floating-point products and
    the coarser Winograd forms. compact: weights that an algorithm makes more of are stored as they are, and
    transformed at load. weights: the type of 16 bits in which float32 weights are stored, None for float32;
    those that a program has in 16 bits stay so. Raises ValueError for another precision.
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
        """Whether float32 products and convolutions keep full float32."""
        return self.float32_matmul_precision == HIGHEST
