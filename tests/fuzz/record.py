"""A pytest plugin that records kernel calls of a run: `pytest -p tests.fuzz.record tests/ops`.

It writes `calls.json` with successful calls of each kernel, which differ in dtypes, ranks or kinds of
arguments.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import rushlight.runtime
from rushlight.runtime import kernels

CALLS = Path(__file__).parent / "calls.json"
MAX_ELEMENTS = 2048  # maximum number of elements of the tensors of a call
MAX_CALLS = 4  # maximum number of calls of a kernel

_kept: dict[str, dict[str, tuple[int, list[Any]]]] = {}


def dim_order(tensor: torch.Tensor) -> list[int]:
    """Returns the dimensions of a dense tensor, from outermost to innermost."""
    if tensor.is_contiguous():
        return list(range(tensor.dim()))
    strides = tensor.stride()
    return sorted(range(tensor.dim()), key=lambda dim: (-strides[dim], dim))


def describe(value: object) -> Any:
    """Returns a value as JSON. Raises TypeError if this is not possible."""
    if isinstance(value, torch.Tensor):
        result: dict[str, Any] = {"dtype": str(value.dtype)[6:], "sizes": list(value.shape)}
        if (order := dim_order(value)) != list(range(value.dim())):
            result["order"] = order
        if not value.dtype.is_floating_point and not value.is_complex() and value.numel() > 0:
            result["range"] = [int(value.min()), int(value.max())]
        return result
    if isinstance(value, torch.dtype):
        return {"type": str(value)[6:]}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(value)


def _kind(value: Any) -> object:
    if isinstance(value, dict):
        return [value.get("dtype"), len(value.get("sizes", ())), "order" in value]
    if isinstance(value, list):
        return [len(value), *map(_kind, value[:1])]
    return type(value).__name__


def _elements(value: Any) -> int:
    if isinstance(value, dict) and "sizes" in value:
        return int(torch.Size(value["sizes"]).numel())
    return sum(map(_elements, value)) if isinstance(value, list) else 0


def _keep(name: str, library: str | None, args: Sequence[object]) -> None:
    try:
        described = [describe(value) for value in args]
        json.dumps(described, allow_nan=False)
    except (TypeError, ValueError, NotImplementedError):
        return
    size = _elements(described)
    if size > MAX_ELEMENTS:
        return
    calls = _kept.setdefault(f"{library or 'portable'} {name}", {})
    kind = json.dumps([_kind(value) for value in described])
    if kind not in calls or size > calls[kind][0]:
        calls[kind] = size, described


def _record(original: Any) -> Any:
    @functools.wraps(original)
    def call_kernel(
        name: str, args: Sequence[object], library: str | None = None, threads: int = 1
    ) -> list[Any]:
        result: list[Any] = original(name, args, library, threads)
        _keep(name, library, args)
        return result

    return call_kernel


def pytest_configure(config: pytest.Config) -> None:
    wrapped = _record(kernels.call_kernel)
    kernels.call_kernel = wrapped
    rushlight.runtime.call_kernel = wrapped  # type: ignore[attr-defined]


def pytest_unconfigure(config: pytest.Config) -> None:
    chosen = {}
    for name in sorted(_kept):
        calls = [call for _, call in sorted(_kept[name].values(), key=lambda kept: -kept[0])]
        step = max(1, len(calls) // MAX_CALLS)
        chosen[name] = calls[::step][:MAX_CALLS]
    lines = [f"{json.dumps(name)}: {json.dumps(calls)}" for name, calls in chosen.items()]
    CALLS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
