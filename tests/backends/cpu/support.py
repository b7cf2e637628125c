"""Lowers modules to CpuBackend, and compares them with eager PyTorch."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import nn
from torch.utils import _pytree

from rushlight.backends.cpu.options import Float32MatmulPrecision
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.operation import Operation
from rushlight.backends.cpu.plan.payload import read_plan
from rushlight.backends.cpu.plan.tables import Plan
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge_transform_and_lower
from rushlight.format.pte import read_pte
from rushlight.runtime import Runtime, RushlightError

Inputs = tuple[torch.Tensor, ...]
Kind = type[Operation[int]]
Some = TypeVar("Some", bound=Operation[int])

PRECISIONS: tuple[Float32MatmulPrecision, ...] = ("highest", "high")


class Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def lower(
    model: Any, inputs: Inputs, dynamic_shapes: Any = None, partitioner: CpuPartitioner | None = None
) -> tuple[bytes, list[str]]:
    """Returns the program file, and the names of the operators outside the delegate."""
    module = model.eval() if isinstance(model, nn.Module) else Function(model)
    exported = torch.export.export(module, inputs, dynamic_shapes=dynamic_shapes)
    edge = to_edge_transform_and_lower(exported, partitioner=[partitioner or CpuPartitioner()])
    nodes = get_non_lowered_nodes(edge.exported_program().graph)
    outside = [str(node.target) for node in nodes if node.target is not operator.getitem]
    return edge.to_executorch().buffer, outside


def plan_of(program: bytes) -> Plan:
    """Returns the plan of a program with one delegate."""
    (payload,) = [item for item in map(bytes, read_pte(program).delegate_data) if item]
    return read_plan(payload)


def kinds(program: bytes) -> list[Kind]:
    """Returns the kinds of the steps, in their order."""
    return [type(step.operation) for step in plan_of(program).steps]


def operations(program: bytes, kind: type[Some]) -> list[Some]:
    """Returns the operations of one kind, in their order."""
    return [step.operation for step in plan_of(program).steps if isinstance(step.operation, kind)]


def run(program: bytes, inputs: Inputs, threads: int | None = None) -> list[torch.Tensor]:
    method = Runtime.get().load_program(program, threads=threads).load_method("forward")
    return [torch.as_tensor(item) for item in method.execute(list(inputs))]


def expected(model: Any, inputs: Inputs) -> list[torch.Tensor]:
    with torch.no_grad():
        return list(_pytree.tree_leaves(model(*inputs)))


def assert_close(got: Sequence[torch.Tensor], want: Sequence[torch.Tensor], tolerance: float = 1e-5) -> None:
    """Requires equality within a tolerance relative to the largest value.

    NaN and infinities must be equal.
    """
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        finite = b[torch.isfinite(b)].abs() if b.is_floating_point() else b
        largest = float(finite.max()) if finite.numel() else 1.0
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * max(largest, 1e-3), equal_nan=True)


def damaged(program: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yields `count` copies of the program. In each, a bit or an aligned word of a plan is changed."""
    data = bytearray(program)
    spans = []
    for payload in filter(None, map(bytes, read_pte(program).delegate_data)):
        start = data.index(payload)
        spans.append((start, start + len(payload)))
    chosen = random.Random(seed)
    for _ in range(count):
        start, end = chosen.choice(spans)
        at = chosen.randrange(start, end - 4) // 4 * 4
        old = bytes(data[at : at + 4])
        if chosen.random() < 0.5:
            data[at + chosen.randrange(4)] ^= 1 << chosen.randrange(8)
        else:
            words = (0, 0xFFFFFFFF, 0x7FFFFFFF, chosen.randrange(64), 1 << chosen.randrange(32))
            data[at : at + 4] = chosen.choice(words).to_bytes(4, "little")
        yield bytes(data)
        data[at : at + 4] = old


def refusals(programs: Iterable[bytes], inputs: Inputs) -> int:
    """Returns how many programs the runtime rejects with an error. The others return a result."""
    refused = 0
    for program in programs:
        try:
            run(program, inputs)
        except RushlightError as error:
            assert str(error)
            refused += 1
    return refused
