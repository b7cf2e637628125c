"""Loads a case as an nn.Module with inputs."""

from __future__ import annotations

import linecache
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from tests.torture.case import Case, dynamic_shapes, source
from torch import nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree


@dataclass
class Model:
    """The definitions in the source of a case. Each `module()` is a new module with the same weights."""

    case: Case
    space: dict[str, Any]

    def module(self) -> nn.Module:
        torch.manual_seed(0)
        module: nn.Module = self.space["M"]()
        return module.eval().requires_grad_(False)

    def arguments(self, call: int, seed: int | None = None) -> tuple[Any, ...]:
        """Returns new arguments for a call. With another seed they have other numbers."""
        number = call if seed is None else seed
        arguments: tuple[Any, ...] = self.space["inputs"](number, **self.case.calls[call])
        return arguments

    def export(self) -> ExportedProgram:
        shapes = dynamic_shapes(self.case)
        return torch.export.export(
            self.module(),
            self.arguments(0),
            dynamic_shapes=None if shapes is None else eval(shapes, {"torch": torch}),  # noqa: S307
            strict=False,
        )


def load(case: Case) -> Model:
    """Executes the source of a case. Errors of the compiler contain its line numbers."""
    text = source(case)
    file = f"<case {case.seed}/{case.index}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    # Dynamo imports the modules that it traces.
    module = sys.modules["torture_case"] = ModuleType("torture_case")
    exec(compile(text, file, "exec"), module.__dict__)
    return Model(case, module.__dict__)


def leaves(tree: Any) -> list[Any]:
    """Returns the tensors and numbers in a structure of outputs."""
    found: list[Any] = pytree.tree_leaves(tree)
    return found
