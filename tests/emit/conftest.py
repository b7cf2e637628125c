"""Fixtures: lowered programs, and an interpreter that runs programs on torch's kernels."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import pytest
import torch
from tests.emit.cases import CASES
from tests.emit.interpreter import Interpreter


@pytest.fixture(scope="session")
def cases() -> dict[str, Any]:
    """Returns the cases by name: a module factory, example inputs, dynamic shapes."""
    return CASES


@pytest.fixture(scope="session")
def run() -> Any:
    """run(pte, inputs, method="forward") runs a program on torch's kernels and returns its outputs."""
    return Interpreter


@pytest.fixture(scope="session")
def lower() -> Any:
    """lower(module, args, dynamic_shapes=None, **config) returns an ExecutorchProgramManager."""
    from rushlight.compiler.config import ExecutorchBackendConfig
    from rushlight.compiler.edge import to_edge

    def lower(module: torch.nn.Module, args: Any, dynamic_shapes: Any = None, **config: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exported = torch.export.export(module.eval(), args, dynamic_shapes=dynamic_shapes, strict=False)
            return to_edge(exported).to_executorch(ExecutorchBackendConfig(**config))

    return lower


@pytest.fixture(scope="session")
def lowered(lower: Any, cases: dict[str, Any]) -> Any:
    """lowered(name) returns the program manager of a case, which is lowered once."""

    @functools.cache
    def lowered(name: str) -> Any:
        make, args, dynamic_shapes = cases[name]
        torch.manual_seed(0)
        return lower(make(), args, dynamic_shapes)

    return lowered
