"""The kernel calls of the tests in tests/ops, with the results of the portable and quantized kernels."""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import torch
from tests.aot_c.one_call import Call
from tests.ops import harness

from rushlight.runtime import call_kernel
from rushlight.runtime.errors import RushlightError


def calls_of(module: ModuleType, most: int) -> list[Call]:
    """Returns the calls whose results are tensors, from at most `most` runs of each test.

    The outs of a call are its results.
    """
    found: list[Call] = []

    def record(name: str, args: Any, library: str | None = None, threads: int = 1) -> Any:
        outs = harness.operator(name).outs
        given, results = list(args[: len(args) - outs]), list(args[len(args) - outs :])
        kept = [item.clone() if isinstance(item, torch.Tensor) else item for item in given]
        shapes = call_kernel(name, args, library, threads)
        is_plain = outs > 0 and all(isinstance(result, torch.Tensor) for result in results)
        if library in ("portable", "quantized") and is_plain:
            same = all(
                tuple(result.shape) == tuple(shape)  # type: ignore[arg-type]
                for result, shape in zip(results, shapes[-outs:], strict=True)
            )
            if same:
                found.append(Call(name, kept, [result.clone() for result in results]))
        return shapes

    targets = [m for m in (module, harness) if hasattr(m, "call_kernel")]
    for name, function in vars(module).items():
        if not name.startswith("test_") or not callable(function):
            continue
        runs = [run for run in _parameters(function) if not any(map(_is_large, run.values()))]
        for arguments in runs[:: -(-len(runs) // most) or 1]:
            torch.manual_seed(7)
            patches = [mock.patch.object(target, "call_kernel", record) for target in targets]
            for patch in patches:
                patch.start()
            try:
                function(**arguments)
            except (AssertionError, RushlightError, pytest.fail.Exception):
                pass  # the tests of the kernels report such errors
            finally:
                for patch in patches:
                    patch.stop()
    return found


def _is_large(value: object) -> bool:
    """Whether a parameter is a shape with many elements."""
    if not isinstance(value, tuple):
        return False
    sizes = [item for item in value if isinstance(item, int)]
    return len(sizes) == len(value) and math.prod(sizes) > 5000


def _parameters(function: Any) -> Iterator[dict[str, Any]]:
    """Returns the arguments of each run of a test, or none if the test needs fixtures."""
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    choices: list[list[dict[str, Any]]] = []
    for mark in marks:
        names = mark.args[0]
        keys = re.split(r"\s*,\s*", names) if isinstance(names, str) else list(names)
        rows = []
        for value in mark.args[1]:
            values = [value] if len(keys) == 1 else list(value)
            rows.append(dict(zip(keys, values, strict=True)))
        choices.append(rows)
    known = {key for rows in choices for row in rows[:1] for key in row}
    if set(inspect.signature(function).parameters) - known:
        return
    for combination in itertools.product(*choices):
        yield {key: value for row in combination for key, value in row.items()}
