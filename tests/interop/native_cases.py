"""Models for packages of the native backend, and the facts of a package that both systems read."""

from __future__ import annotations

import dataclasses
from enum import IntEnum
from hashlib import sha256
from typing import Any

import torch
from torch import nn
from torch.export import Dim, ExportedProgram, export


class Cache(nn.Module):
    """A buffer without stored data that each call changes, and a stored one."""

    cache: torch.Tensor
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(4), persistent=False)
        self.register_buffer("count", torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.cache.add_(x)
        self.count.add_(1)
        return self.cache + self.count


class Branches(nn.Module):
    def forward(self, condition: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(condition, lambda t: t + t, lambda t: t * t, (x,))


class Pieces(nn.Module):
    """Lists and tuples of tensors, an optional tensor and a dtype as arguments and results."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first, second = torch.split(x, 3, dim=1)
        values, places = torch.topk(torch.cat([second, first], dim=1), 2)
        return values.to(torch.float16), places + 1, x[:, torch.tensor([0, 2])]


class Largest(nn.Module):
    """A list and a tuple of tensors as results of operators."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = torch.split(x, 3, dim=1)
        values, _ = torch.topk(first * second, 2)
        return values


class Rows(nn.Module):
    """A size that is not known when the model is exported."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], -1) * 2.0


def programs(name: str) -> dict[str, ExportedProgram]:
    """Returns the methods of a case."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(3)

    def inputs(*shape: int) -> tuple[torch.Tensor, ...]:
        return (torch.randn(*shape, generator=generator),)

    if name == "perceptron":
        perceptron = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4), nn.Sigmoid())
        return {"forward": export(perceptron, inputs(2, 8))}
    if name == "image":
        image = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.GELU(), nn.AvgPool2d(2)).eval()
        return {"forward": export(image, inputs(1, 3, 8, 8))}
    if name == "bfloat16":
        return {"forward": export(nn.Linear(4, 4).bfloat16(), (inputs(2, 4)[0].bfloat16(),))}
    if name == "methods":
        model = nn.Linear(8, 4)
        return {"prefill": export(model, inputs(2, 8)), "decode": export(model, inputs(1, 8))}
    if name == "cache":
        return {"forward": export(Cache(), inputs(4))}
    if name == "branches":
        return {"forward": export(Branches(), (torch.tensor(True), *inputs(3)))}
    if name == "convolution":
        return {"forward": export(nn.Sequential(nn.Conv2d(3, 8, 3), nn.GELU()), inputs(1, 3, 8, 8))}
    if name == "largest":
        return {"forward": export(Largest(), inputs(2, 6))}
    if name == "pieces":
        return {"forward": export(Pieces(), inputs(2, 6))}
    assert name == "rows"
    rows = Dim("rows", min=2, max=16)
    return {"forward": export(Rows(), inputs(4, 2, 3), dynamic_shapes=({0: rows},))}


THEIRS = ("perceptron", "convolution", "bfloat16", "methods", "cache", "rows")
"""The cases of which ExecuTorch 1.5.1 makes packages."""

NAMES = (*THEIRS, "largest", "image", "branches", "pieces")


def facts_of(program: object, tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Returns the contents of a package as JSON values: all tables, and the digests of the tensors."""
    digests = {
        key: [
            str(t.dtype),
            list(t.shape),
            sha256(t.flatten().view(torch.uint8).numpy().tobytes()).hexdigest(),
        ]
        for key, t in sorted(tensors.items())
    }
    return {"program": _facts(program), "tensors": digests}


def _facts(item: Any) -> Any:
    if dataclasses.is_dataclass(item):
        values = {field.name: _facts(getattr(item, field.name)) for field in dataclasses.fields(item)}
        return {"": type(item).__name__, **values}
    if isinstance(item, list):
        return [_facts(element) for element in item]
    return int(item) if isinstance(item, IntEnum) else item
