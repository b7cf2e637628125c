"""Writes the payloads of both native backends for a few small programs: FOLDER/<program>-<backend>.bin.

python scripts/golden_payloads.py tests/golden/backends

Weights and the instruction set are fixed, so that the bytes are the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.delegate.partitioner import Partitioner
from rushlight.exir import to_edge_transform_and_lower
from rushlight.format.pte import read_pte

BACKENDS: dict[str, Callable[[], Partitioner]] = {
    "cpu-avx2": lambda: CpuPartitioner("avx2"),
    "cpu-neon": lambda: CpuPartitioner("neon"),
    "xnnpack": XnnpackPartitioner,
}


def image_network() -> tuple[nn.Module, torch.Tensor]:
    """Returns a network with convolutions (plain, depthwise, of stride 2), batch norm and pooling."""
    body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.ReLU6())
    layers = [nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), body, nn.Conv2d(8, 8, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)), ramp(1, 3, 16, 16)


def rows_network() -> tuple[nn.Module, torch.Tensor]:
    """Returns a network with linear layers, a layer norm, an activation and a softmax over rows."""
    layers = [nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8, bias=False), nn.Softmax(-1)]
    return nn.Sequential(*layers), ramp(4, 16)


PROGRAMS = {"images": image_network, "rows": rows_network}


def ramp(*shape: int) -> torch.Tensor:
    """Returns small multiples of 1/8, whose sums and products are exact."""
    count = int(torch.tensor(shape).prod())
    return ((torch.arange(count) % 7 - 3) / 8).reshape(shape)


def payload(program: str, backend: str) -> bytes:
    """Returns the payload of the largest part of a program that runs on the backend."""
    model, x = PROGRAMS[program]()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(ramp(*parameter.shape))
    exported = torch.export.export(model.eval(), (x,))
    edge = to_edge_transform_and_lower(exported, partitioner=[BACKENDS[backend]()])
    parts = [bytes(item) for item in read_pte(edge.to_executorch().buffer).delegate_data if item]
    return max(parts, key=len)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        for backend in BACKENDS:
            (folder / f"{program}-{backend}.bin").write_bytes(payload(program, backend))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
