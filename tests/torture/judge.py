"""Compares results with eager PyTorch, and with a float64 reference if rounding has a large effect."""

from __future__ import annotations

from typing import Any

import torch
from tests.torture.reference import Reference

# rtol, and atol relative to the largest result.
TOLERANCE = {
    torch.float64: (1e-9, 1e-10),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (5e-3, 2e-3),
    torch.bfloat16: (3e-2, 1e-2),
}
PRODUCTS = {"high": 5e-4}
"""The additional tolerance of products in a configuration, relative to the largest result."""


def problem(
    got: list[Any], want: list[Any], reference: Reference | None, call: int, configuration: str
) -> str:
    """Returns a description of the first difference in the outputs of a call, or an empty text."""
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        text = _compare(a, b)
        if text and reference is not None:
            try:
                if _explained(a, b, i, reference, call, configuration):
                    text = ""
            except Exception as error:
                text += f" (no reference in float64: {type(error).__name__}: {error})"
        if text:
            return f"output {i}: {text}"
    return ""


def _compare(got: Any, want: Any) -> str:
    if not isinstance(want, torch.Tensor):
        return "" if got == want else f"{got!r} instead of {want!r}"
    if not isinstance(got, torch.Tensor):
        return f"{type(got).__name__} instead of a tensor"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype} instead of {want.dtype}"
    if got.shape != want.shape:
        return f"shape {list(got.shape)} instead of {list(want.shape)}"
    bad = ~_near(got, want, *TOLERANCE.get(want.dtype, (0.0, 0.0)))
    if not bool(bad.any()):
        return ""
    return _worst(got, want, bad)


def _worst(got: torch.Tensor, want: torch.Tensor, bad: torch.Tensor) -> str:
    count = int(bad.sum())
    error = (got.double() - want.double()).abs()
    error = torch.where(bad, error.nan_to_num(torch.inf, torch.inf), -1.0)
    place = int(error.flatten().argmax())
    a, b = got.flatten()[place].item(), want.flatten()[place].item()
    return f"{count} of {want.numel()} values differ; at {place} {a!r} instead of {b!r}"


def _near(got: torch.Tensor, want: torch.Tensor, rtol: float, atol: float) -> torch.Tensor:
    """Returns a mask of values that agree: both NaN, the same infinity, or within the tolerance."""
    if not want.is_floating_point():
        return got == want
    a, b = got.double(), want.double()
    finite = b[torch.isfinite(b)]
    largest = finite.abs().max() if finite.numel() else torch.tensor(0.0)
    near = (a - b).abs() <= rtol * b.abs() + atol * largest.clamp(max=1e4)
    return near & torch.isfinite(b) | (a == b) | (a.isnan() & b.isnan())


def _explained(got: Any, want: Any, i: int, reference: Reference, call: int, configuration: str) -> bool:
    """Whether the float64 reference or rounding explains a difference from eager PyTorch."""
    if not isinstance(got, torch.Tensor) or not isinstance(want, torch.Tensor) or got.dtype != want.dtype:
        return False
    exact = reference.plain(call)[i]
    products = PRODUCTS.get(configuration, 0.0)
    runs = [run[i] for run in reference.disturbed(call, products)]
    if any(r.shape != exact.shape for r in runs):
        return True
    if got.shape != want.shape:
        return False
    if exact.shape != want.shape:
        return False
    stack = torch.stack([exact, *runs])
    if not want.is_floating_point():
        unstable = (stack != stack[0]).any(0)
        return bool((unstable | (got == want) | (got == exact)).all())
    spread = (stack - stack[0]).abs().amax(0)
    if reference.uniform and spread.numel():
        spread = spread.amax().expand_as(spread)
    unstable = spread.isnan() | ~torch.isfinite(stack).all(0) & torch.isfinite(stack).any(0)
    rtol, atol = TOLERANCE[want.dtype]
    finite = exact[torch.isfinite(exact)]
    largest = finite.abs().max().clamp(max=1e4) if finite.numel() else torch.tensor(0.0)
    a = got.double()
    near = (a - exact).abs() <= 8 * spread.nan_to_num(0.0, 0.0) + rtol * exact.abs() + atol * largest
    same = (a == exact) | (a.isnan() & exact.isnan())
    overflow = exact.abs() > torch.finfo(want.dtype).max
    explained = unstable | near | same | overflow | _near(got, want, rtol, atol)
    # If comparisons of nearly equal numbers decide, the differing elements are not the same in each run.
    moved = max(int((~_near(run, exact, rtol, atol)).sum()) for run in runs)
    return int((~explained).sum()) <= 2 * moved
