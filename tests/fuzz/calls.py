"""Successful calls of kernels for every row of the kernel tables, which `tests.fuzz.record` wrote."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from tests.fuzz.record import CALLS

from rushlight.runtime import kernel_names


@dataclass(frozen=True)
class Call:
    """A call of a kernel of a library.

    The arguments are in the order of the schema, with the outs at the end.
    """

    library: str
    name: str
    args: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.library} {self.name}({', '.join(map(show, self.args))})"


def show(value: object) -> str:
    """Returns a value as text. The text of a tensor contains its dtype and shape."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{list(value.shape)}"
    if isinstance(value, list):
        return f"[{', '.join(map(show, value))}]"
    return repr(value)


def make_tensor(
    dtype: torch.dtype,
    sizes: list[int],
    order: list[int] | None,
    bounds: tuple[int, int],
    generator: torch.Generator,
) -> torch.Tensor:
    """Returns a tensor with numbers within the bounds, and with the dim order `order`."""
    order = list(range(len(sizes))) if order is None else order
    shape = [sizes[dim] for dim in order]
    if dtype.is_floating_point or dtype.is_complex:
        real = torch.complex64 if dtype.is_complex else torch.float32
        dense = torch.randn(shape, dtype=real, generator=generator).to(dtype)
    else:
        low, high = bounds
        high = min(high, low + 2**31)
        dense = torch.randint(low, high + 1, shape, dtype=torch.int64, generator=generator).to(dtype)
    inverse = [order.index(dim) for dim in range(len(sizes))]
    return dense.permute(inverse) if order != sorted(order) else dense


def _value(described: Any, generator: torch.Generator) -> Any:
    if isinstance(described, list):
        return [_value(item, generator) for item in described]
    if not isinstance(described, dict):
        return described
    if "type" in described:
        return getattr(torch, described["type"])
    dtype: torch.dtype = getattr(torch, described["dtype"])
    low, high = described.get("range", (0, 1))
    return make_tensor(dtype, described["sizes"], described.get("order"), (low, high), generator)


@functools.cache
def _recorded() -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = json.loads(CALLS.read_text())
    return result


LIBRARIES = ("portable", "optimized", "quantized")

_IMAGE: Any = {"dtype": "float32", "sizes": [2, 3, 4, 5, 6]}
_MATRIX: Any = {"dtype": "float32", "sizes": [3, 4]}
_VECTOR, _MASK, _QUERY, _TOKENS, _CACHE = (
    {"dtype": "float32", "sizes": sizes} for sizes in ([1], [2, 6], [1, 2, 4, 3], [1, 2, 2, 3], [1, 6, 2, 3])
)
# Calls of kernels whose tests have no reference, or have larger tensors.
_OTHERS: dict[str, list[Any]] = {
    "aten::rand.out": [[[3, 4], _MATRIX]],
    "aten::randn.out": [[[3, 4], _MATRIX]],
    "aten::rand_like.out": [[_MATRIX, None, _MATRIX]],
    "aten::randn_like.out": [[_MATRIX, None, _MATRIX]],
    "aten::grid_sampler_3d.out": [
        [_IMAGE, {"dtype": "float32", "sizes": [2, 2, 3, 2, 3]}, mode, padding, aligned, out]
        for mode, padding, aligned in ((0, 0, False), (1, 1, True), (0, 2, True))
        for out in [{"dtype": "float32", "sizes": [2, 3, 2, 3, 2]}]
    ],
    "llama::custom_sdpa.out": [
        [_QUERY, _CACHE, _CACHE, 3, mask, 0.0, not mask, 0.5, _QUERY] for mask in (None, _MASK)
    ],
    "llama::sdpa_with_kv_cache.out": [
        [_QUERY, _TOKENS, _TOKENS, _CACHE, _CACHE, 3, 2, None, 0.0, True, None, _QUERY]
    ],
    "llama::update_cache.out": [[_TOKENS, _CACHE, 3, _VECTOR]],
    "llama::update_cache_with_indices.out": [
        [_TOKENS, _CACHE, 3, {"dtype": "int64", "sizes": [1, 2], "range": [0, 5]}, _VECTOR]
    ],
    "llama::custom_quantized_sdpa.out": [
        [
            *({"dtype": "int8", "sizes": [1, n, 2, 3]} for n in (2, 6, 6)),
            *(3, None, 0.0, True, None),
            *({"dtype": dtype, "sizes": [1, n, 2, 1]} for n in (2, 6, 6) for dtype in ("int8", "float32")),
            *(False, {"dtype": "float32", "sizes": [1, 2, 2, 3]}),
        ]
    ],
    "llama::fast_hadamard_transform.out": [
        [{"dtype": "float32", "sizes": sizes}] * 2 for sizes in ([3, 8], [28])
    ],
    **{
        f"llama::{name}.out": [
            [
                {"dtype": "float32", "sizes": sizes}
                for sizes in (
                    *([1, 4, 2, 3], [1, 2, 2, 3], [1, 2, 2, 5], [1, 2, 2, *rows], [1, 2, 2], [1, 2, 3, 5]),
                    *([1, 4, 2, 5], [1, 2, 3, 5]),
                )
            ]
            for rows in ([], [3])
        ]
        for name in ("gated_delta_rule", "channelwise_gated_delta_rule")
    },
    "preprocess::tile_crop.out": [
        [{"dtype": "float32", "sizes": [2, 4, 6]}, 2, {"dtype": "float32", "sizes": [6, 2, 2, 2]}]
    ],
    "dim_order_ops::_clone_dim_order.out": [[_MATRIX, False, [0, 1], _MATRIX]],
    "rushlight::choose_qparams_per_token_symmetric.out": [
        [_MATRIX, -127, 127, 1e-7, {"type": "int8"}, *({"dtype": dtype, "sizes": [3, 1]} for dtype in dtypes)]
        for dtypes in (("float32", "int32"), ("float64", "int64"))
    ],
}


def rows() -> list[tuple[str, str]]:
    """Returns the library and the name of every kernel of the tables."""
    return [(library, name) for library in LIBRARIES for name in kernel_names(library)]


def calls(library: str, name: str, seed: int = 0) -> Iterator[Call]:
    """Returns the calls of a kernel with new tensors.

    Without calls, those of the kernel in another library.
    """
    generator = torch.Generator().manual_seed(seed)
    recorded = _recorded()
    keys = [f"{other} {name}" for other in (library, *LIBRARIES)]
    for described in next((recorded[key] for key in keys if key in recorded), None) or _OTHERS[name]:
        yield Call(library, name, tuple(_value(item, generator) for item in described))
