"""Strategies of hypothesis that change the arguments of a call of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st
from tests.fuzz.calls import Call, make_tensor

DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.uint16,
    torch.uint32,
    torch.complex64,
)
SIZES = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 16, 33])
INTEGERS = st.one_of(
    st.integers(-6, 9), st.sampled_from([16, 100, -(2**31), 2**31 - 1, 2**31, 2**32, -(2**63), 2**63 - 1])
)
FLOATS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, float("inf"), -float("inf"), float("nan")])
MAX_ELEMENTS = 1 << 16


def _fresh(draw: Any, dtype: torch.dtype, sizes: list[int]) -> torch.Tensor:
    """Returns a tensor with other numbers. Sizes are reduced if there are too many elements."""
    while torch.Size(sizes).numel() > MAX_ELEMENTS:
        sizes = [size // 2 for size in sizes]
    order = list(draw(st.permutations(range(len(sizes))))) if draw(st.integers(0, 3)) == 0 else None
    bounds = draw(st.sampled_from([(0, 1), (0, 3), (-3, 3), (0, 120), (-(2**31), 2**31 - 1)]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**16)))
    return make_tensor(dtype, sizes, order, bounds, generator)


def _damaged_tensor(draw: Any, tensor: torch.Tensor) -> torch.Tensor:
    sizes = list(tensor.shape)
    match draw(st.sampled_from(["dtype", "size", "rank", "numbers", "all"])):
        case "dtype":
            return _fresh(draw, draw(st.sampled_from(DTYPES)), sizes)
        case "size" if sizes:
            sizes[draw(st.integers(0, len(sizes) - 1))] = draw(SIZES)
        case "rank":
            if sizes and draw(st.booleans()):
                del sizes[draw(st.integers(0, len(sizes) - 1))]
            else:
                sizes.insert(draw(st.integers(0, len(sizes))), draw(SIZES))
        case "all":
            sizes = draw(st.lists(SIZES, max_size=6))
            return _fresh(draw, draw(st.sampled_from(DTYPES)), sizes)
    return _fresh(draw, tensor.dtype, sizes)


def _damaged(draw: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _damaged_tensor(draw, value)
    if isinstance(value, torch.dtype):
        return draw(st.sampled_from(DTYPES))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw(INTEGERS)
    if isinstance(value, float):
        return draw(FLOATS)
    if isinstance(value, str):
        return draw(
            st.sampled_from(["", "floor", "trunc", "mean", "sum", "none", "tanh", value[:-1], "x" * 300])
        )
    if isinstance(value, list):
        return _damaged_list(draw, value)
    return draw(st.sampled_from([None, 0, 1, 1.5, True]))


def _damaged_list(draw: Any, value: list[Any]) -> list[Any]:
    if not value:
        return draw(st.sampled_from([[0], [1, 2], [-1, -1, -1]]))  # type: ignore[no-any-return]
    at = draw(st.integers(0, len(value) - 1))
    match draw(st.sampled_from(["change", "shorten", "lengthen", "empty"])):
        case "shorten":
            return value[:at] + value[at + 1 :]
        case "lengthen":
            return [*value, value[at]]
        case "empty":
            return []
        case _:
            return [*value[:at], _damaged(draw, value[at]), *value[at + 1 :]]


def _with_overlap(draw: Any, args: list[Any], outs: int) -> None:
    """Replaces an out by a view of the memory of an argument."""
    tensors = [value for value in args if isinstance(value, torch.Tensor)]
    at = draw(st.integers(len(args) - outs, len(args) - 1))
    if tensors and isinstance(args[at], torch.Tensor):
        base = draw(st.sampled_from(tensors))
        flat = base.as_strided((base.numel(),), (1,))
        args[at] = flat[draw(st.integers(0, min(3, base.numel()))) :]


@st.composite
def damaged_calls(draw: Any, calls: list[Call], number_of_outs: Callable[[Call], int]) -> tuple[Call, bool]:
    """Draws a call with one to three changed arguments.

    Returns it, and whether an out overlaps an argument.
    """
    call = draw(st.sampled_from(calls))
    args = list(call.args)
    for _ in range(draw(st.integers(1, 3))):
        if args:
            at = draw(st.integers(0, len(args) - 1))
            args[at] = _damaged(draw, args[at])
    overlaps = bool(args) and draw(st.integers(0, 7)) == 0
    if overlaps:
        _with_overlap(draw, args, number_of_outs(call))
    return Call(call.library, call.name, tuple(args)), overlaps
