"""A model with a hardswish and a linear layer: their decompositions have nodes with equal debug handles."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram, export
from torch.fx import Node

from rushlight.compiler.edge import to_edge
from rushlight.devtools.etrecord import ETRecord

INPUT = torch.tensor([[-5.0, 0.0, 5.0]])


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.nn.functional.hardswish(x))


def record() -> tuple[ExportedProgram, ETRecord]:
    """Returns the exported program and the record of a program whose operators are all kernels."""
    exported = export(Model(), (INPUT,))
    manager: Any = to_edge(exported, generate_etrecord=True).to_executorch()
    return exported, manager.get_etrecord()


def clamps(nodes: list[Node]) -> list[str]:
    return [node.name for node in nodes if "clamp" in node.name]
