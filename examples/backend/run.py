"""Lowers a model to StackBackend, runs it, and compares it with eager PyTorch.

python run.py build/libstack_backend.so [model.pte]
"""

from __future__ import annotations

import sys

import torch
from stack import StackPartitioner
from torch import nn

import rushlight
from rushlight.delegate.report import delegationtable
from rushlight.exir import to_edge_transform_and_lower


class Average(nn.Module):
    """Adds its inputs to a buffer. The backend runs these operators and keeps the buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0, 1, 4))
        self.register_buffer("sum", torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.sum.add_(x * self.weight)
        return torch.exp(self.sum - x)


model = Average().eval()
x = torch.randn(4)
partitioner = StackPartitioner()
edge = to_edge_transform_and_lower(torch.export.export(model, (x,)), partitioner=[partitioner])
print(delegationtable(edge.exported_program().graph_module, partitioner.reporter.reasons))
program = edge.to_executorch()
if len(sys.argv) > 2:
    program.save(sys.argv[2])

library = rushlight.load_library(sys.argv[1])
print(f"{library.name}: {', '.join(library.backends)}")
module = rushlight.load(program.buffer, backend_options={"StackBackend": {"check_finite": True}})
for _ in range(3):  # the delegate keeps the state between the calls
    torch.testing.assert_close(module(x), model(x))
try:
    module(torch.full((4,), float("inf")))
except rushlight.RushlightError as error:
    print(error)
    print("at", "; ".join(map(str, program.locate(error))))
