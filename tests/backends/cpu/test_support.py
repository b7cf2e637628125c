"""Operators that plans do not support run on kernels, and agree with eager PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, run
from torch import nn
from torch.nn import functional as F
from typing_extensions import override

import rushlight
from rushlight.backends.cpu import CpuPartitioner
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.delegate.partitioner import PartitionResult
from rushlight.ir.errors import CompileError
from rushlight.quantize import dynamic_int8, quantize, static_int8

CASES = {
    "no rows of weights": (nn.Linear(0, 7), torch.randn(3, 0)),
    "no columns of weights": (nn.Linear(7, 0), torch.randn(3, 7)),
    "no weights in 16 bits": (nn.Linear(0, 7).bfloat16(), torch.randn(3, 0).bfloat16()),
    "areas without output": (lambda x: F.interpolate(x, scale_factor=0.5, mode="area"), torch.randn(1, 3, 1)),
    "a pool without output": (lambda x: F.adaptive_avg_pool2d(x, (0, 2)), torch.randn(1, 3, 4, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_empty_tensors(name: Any) -> None:
    model, x = CASES[name]
    program, _ = lower(model, (x,))
    assert_close(run(program, (x,)), expected(model, (x,)))


def test_a_negative_divisor_is_left_to_kernels() -> None:
    x = torch.randn(1, 2, 4, 4)
    model = lambda x: F.avg_pool2d(x, 2, divisor_override=-2)  # noqa: E731
    program, _ = lower(model, (x,))
    assert_close(run(program, (x,)), expected(model, (x,)))


def test_a_size_that_is_computed_with() -> None:
    """The position of the quantile, 0.3 * (size - 1), cannot be computed in the plan."""
    batch = torch.export.Dim("batch", min=1, max=6)
    model = lambda x: torch.quantile(x * 2.0, 0.3, 0)  # noqa: E731
    program, _ = lower(model, (torch.randn(2, 3),), dynamic_shapes=(({0: batch},),))
    for count in (1, 5, 6):
        x = torch.randn(count, 3)
        assert_close(run(program, (x,)), expected(model, (x,)))


def test_a_recurrent_network_of_16_bits_with_its_batch_first() -> None:
    """Its result, which torch lays out with time first, is converted as it lies here."""
    network = nn.LSTM(5, 4, batch_first=True).bfloat16()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, x: Any) -> Any:
            return self.network(x)[0].half()

    x = torch.randn(2, 3, 5).bfloat16()
    program, _ = lower(Model(), (x,))
    assert_close(run(program, (x,)), expected(Model(), (x,)), 2e-2)


class _OneByOne(CpuPartitioner):
    """Makes a partition of some nodes, although the backend can only run them together with others."""

    def __init__(self, *operators: str) -> None:
        super().__init__()
        self.operators = operators

    @override
    def partition(self, exported_program: torch.export.ExportedProgram) -> PartitionResult:
        for node in exported_program.graph.nodes:
            if any(operator in node.name for operator in self.operators):
                node.meta["delegation_tag"] = "part"
        return PartitionResult(exported_program, {"part": self.delegation_spec})


@pytest.mark.parametrize(
    ("configuration", "operators", "reason"),
    [
        (dynamic_int8(), ("choose_qparams",), "reads its quantization parameters"),
        (dynamic_int8(per_token=True), ("choose_qparams",), "reads its quantization parameters"),
        (dynamic_int8(per_token=True), ("quantize_per_token",), "the operator that chooses"),
        (dynamic_int8(), ("linear",), "its weights are not constant"),
        (static_int8(), ("linear",), "its weights are not constant"),
    ],
)
def test_a_partition_of_another_partitioner_is_refused(
    configuration: Any, operators: tuple[str, ...], reason: str
) -> None:
    x = torch.randn(2, 16)
    program = torch.export.export(nn.Sequential(nn.Linear(16, 16), nn.ReLU()), (x,))
    program = quantize(program, None, CpuQuantizer().set_global(configuration), [(x,)])
    with pytest.raises(CompileError, match=f"CpuBackend cannot run node .*{reason}.*CpuPartitioner"):
        rushlight.compile(program, partitioner=[_OneByOne(*operators)])
