"""Helpers of the tests of delegation: they load programs and read graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.ir.control_flow import control_flow_submodules
from rushlight.runtime import BackendRegistry, Method, Runtime

needs_xnnpack = pytest.mark.skipif(
    not BackendRegistry().is_available("XnnpackBackend"), reason="this build has no XnnpackBackend"
)


def load(buffer: bytes, method: str = "forward") -> Method:
    return Runtime.get().load_program(bytes(buffer)).load_method(method)


def outputs_of(method: Method, inputs: Sequence[Any]) -> list[torch.Tensor]:
    return [torch.as_tensor(output) for output in method.execute(list(inputs))]


def assert_close(got: Any, expected: Any) -> None:
    for a, b in zip(pytree.tree_leaves(got), pytree.tree_leaves(expected), strict=True):
        torch.testing.assert_close(a, b)


def backends(module: GraphModule) -> list[Any]:
    """Returns the backends of the lowered modules of a graph, then a list for each control-flow body."""
    found: list[Any] = [lowered.backend_id for lowered in get_lowered_backend_modules(module)]
    return found + [backends(body) for _, body, _ in control_flow_submodules(module)]
