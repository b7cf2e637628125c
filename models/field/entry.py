"""Registration of the networks in `models.field`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

Build = Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]


@dataclass(frozen=True)
class Network:
    group: str
    build: Build
    """Returns the network and its example inputs."""


FIELD: dict[str, Network] = {}
"""The networks by name, in the order in which they are measured."""


def register(name: str, group: str, build: Build) -> None:
    FIELD[name] = Network(group, build)


def entry(group: str) -> Callable[[Build], Build]:
    """Registers a function under its own name."""

    def add(build: Build) -> Build:
        register(build.__name__, group, build)
        return build

    return add


def seeded(*shape: int) -> torch.Tensor:
    """Returns normally distributed values, the same in every process."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def tokens(below: int, *shape: int) -> torch.Tensor:
    """Returns integers in [0, below), the same in every process."""
    return torch.randint(0, below, shape, generator=torch.Generator().manual_seed(1))


class First(nn.Module):
    """Wraps a network that returns a dictionary, an object or a list. The wrapper returns a tuple of tensors.

    Args:
        network: the network.
        names: the fields of the result to return. Without names, all values of a dictionary or list.
        inputs: the names of the arguments. Without names, arguments are passed by position.
        fixed: constant arguments.
    """

    def __init__(
        self,
        network: nn.Module,
        names: tuple[str, ...] = (),
        inputs: tuple[str, ...] = (),
        **fixed: object,
    ) -> None:
        super().__init__()
        self.network, self.names, self.inputs, self.fixed = network, names, inputs, fixed

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if self.inputs:
            result = self.network(**dict(zip(self.inputs, values, strict=True)), **self.fixed)
        else:
            result = self.network(*values, **self.fixed)
        if self.names:
            return tuple(result[name] for name in self.names)
        return tuple(result.values()) if isinstance(result, dict) else tuple(result)
