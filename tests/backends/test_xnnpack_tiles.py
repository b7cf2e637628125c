"""Convolutions and products of XnnpackBackend on microkernels: every algorithm, on several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import rushlight
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge_transform_and_lower

pytestmark = pytest.mark.threads

CASES: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "pointwise": (nn.Conv2d(20, 37, 1), (2, 20, 7, 9)),
    "pointwise_grouped": (nn.Conv2d(12, 9, 1, groups=3), (2, 12, 5, 6)),
    "pointwise_strided": (nn.Conv2d(20, 24, 1, stride=2), (1, 20, 9, 8)),
    "stem": (nn.Conv2d(3, 17, 7, stride=2, padding=3), (2, 3, 31, 29)),
    "dilated": (nn.Conv2d(5, 8, 3, dilation=2, padding=3), (1, 5, 12, 11)),
    "grouped": (nn.Conv2d(12, 18, (3, 2), groups=3, padding=(2, 1)), (2, 12, 8, 9)),
    "deep": (nn.Conv2d(300, 33, (3, 5), padding=1), (1, 300, 6, 7)),
    "winograd_2": (nn.Conv2d(64, 40, 3, padding=1), (1, 64, 5, 7)),
    "winograd_4": (nn.Conv2d(19, 21, 3, padding=1), (2, 19, 30, 33)),
    "winograd_unpadded": (nn.Conv2d(32, 16, 3, bias=False), (1, 32, 23, 18)),
    "depthwise_3": (nn.Conv2d(13, 13, 3, groups=13, padding=1), (2, 13, 10, 11)),
    "depthwise_3_strided": (nn.Conv2d(24, 24, 3, groups=24, padding=1, stride=2), (1, 24, 11, 18)),
    "depthwise_5": (nn.Conv2d(9, 9, 5, groups=9, padding=2, bias=False), (1, 9, 9, 14)),
    "depthwise_5_strided": (nn.Conv2d(16, 16, 5, groups=16, padding=2, stride=2), (1, 16, 9, 19)),
    "depthwise_dilated": (nn.Conv2d(11, 11, (2, 3), groups=11, dilation=2, padding=4), (1, 11, 6, 8)),
    "linear": (nn.Linear(70, 45), (3, 5, 70)),
    "linear_row": (nn.Linear(1500, 100, bias=False), (1, 1500)),
}


def _program(module: nn.Module, shape: tuple[int, ...]) -> tuple[bytes, torch.Tensor, torch.Tensor]:
    """Returns the program of the module and a ReLU6, an input, and the result of eager PyTorch."""
    whole = nn.Sequential(module, nn.Hardtanh(-0.4, 0.6)).eval()
    x = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    edge = to_edge_transform_and_lower(torch.export.export(whole, (x,)), partitioner=[XnnpackPartitioner()])
    assert get_non_lowered_nodes(edge.exported_program().graph) == []
    with torch.no_grad():
        return bytes(edge.to_executorch().buffer), x, whole(x)


@pytest.mark.parametrize("name", CASES)
def test_tiles(name: str) -> None:
    program, x, expected = _program(*CASES[name])
    results = [torch.as_tensor(rushlight.load(program, threads=n)(x)) for n in (1, 2, 3)]
    torch.testing.assert_close(results[0], expected, rtol=0, atol=2e-5)
    assert all(torch.equal(results[0], other) for other in results[1:])


def test_a_batch_that_changes() -> None:
    module = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 16, 3, groups=16), nn.Flatten(2))
    x = torch.randn(4, 16, 12, 12)
    exported = torch.export.export(
        module.eval(), (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=6)},)
    )
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    loaded = rushlight.load(bytes(edge.to_executorch().buffer), threads=2)
    for batch in (6, 1, 3, 6):
        x = torch.randn(batch, 16, 12, 12)
        with torch.no_grad():
            torch.testing.assert_close(torch.as_tensor(loaded(x)), module(x), rtol=0, atol=2e-5)


def test_methods_with_common_weights_run_at_the_same_time() -> None:
    torch.manual_seed(0)
    body = nn.Conv2d(16, 32, 3, padding=1).eval()

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = body

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.body(x) * 2

    x = torch.randn(1, 16, 24, 24)
    methods: dict[str, Any] = {"plain": body, "twice": Twice().eval()}
    edge = to_edge_transform_and_lower(
        {name: torch.export.export(module, (x,)) for name, module in methods.items()},
        partitioner={name: [XnnpackPartitioner()] for name in methods},
    )
    program = bytes(edge.to_executorch().buffer)
    with torch.no_grad():
        expected = {name: module(x).numpy() for name, module in methods.items()}

    def repeat(name: str) -> float:
        runtime = rushlight.runtime.Runtime.get()
        method = runtime.load_program(program).load_method(name)
        worst = 0.0
        for _ in range(30):
            (result,) = method.execute([x])
            worst = max(worst, float(np.abs(np.asarray(result) - expected[name]).max()))
        return worst

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(repeat, ["plain", "twice"] * 4)) < 1e-4
