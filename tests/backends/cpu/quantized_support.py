"""Lowers quantized programs to CpuBackend, and runs them."""

from __future__ import annotations

import operator
from typing import Any

import torch
from tests.backends.cpu.support import Kind, plan_of

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import (
    Dequantize,
)
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge_transform_and_lower
from rushlight.ir.edge_ops import is_op
from rushlight.ir.quantization import qd
from rushlight.runtime import Runtime


def kinds(program: bytes) -> set[Kind]:
    return {type(step.operation) for step in plan_of(program).steps}


def lower(program: Any, partitioner: CpuPartitioner | None = None) -> bytes:
    """Returns the program file. The whole program must be in the plan."""
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner or CpuPartitioner()])
    nodes = get_non_lowered_nodes(edge.exported_program().graph)
    outside = {str(node.target) for node in nodes if node.target is not operator.getitem}
    assert outside <= {"aten.sym_size.int"}
    return bytes(edge.to_executorch().buffer)


def dequantize_scale(program: Any) -> float:
    """Returns the scale of the last quantized tensor of an exported program."""
    scales: list[Any] = [n.args[1] for n in program.graph.nodes if is_op(n, qd.dequantize_per_tensor.default)]
    return float(scales[-1])


def run(program: bytes, *inputs: torch.Tensor) -> torch.Tensor:
    method = Runtime.get().load_program(program).load_method("forward")
    return torch.as_tensor(method.execute(list(inputs))[0])


def input_of(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


def quantum(program: bytes) -> float:
    """Returns the scale of the output, which the last step dequantizes."""
    step = plan_of(program).steps[-1].operation
    assert isinstance(step, Dequantize)
    return step.scale
