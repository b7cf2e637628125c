"""The models of the zoo: methods to export, and calls that are compared with eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Call:
    """One call of a method of the loaded program. The program keeps its state between calls."""

    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class Method:
    """A module to export, with its example inputs."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dynamic_shapes: Any = None


@dataclass(frozen=True)
class Model:
    """Methods by name, the calls to compare, and the tolerance relative to the largest value of an output."""

    methods: dict[str, Method]
    calls: list[Call]
    tolerance: float = 1e-3


ZOO: dict[str, Callable[[], Model]] = {}


def zoo(group: str, name: str | None = None) -> Callable[[Callable[[], Model]], Callable[[], Model]]:
    """Registers a function that builds a model as `group/name`."""

    def register(build: Callable[[], Model]) -> Callable[[], Model]:
        ZOO[f"{group}/{name or build.__name__}"] = build
        return build

    return register


def model(
    module: nn.Module | Callable[..., Any],
    *args: Any,
    dynamic: Any = None,
    others: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    tolerance: float = 1e-3,
) -> Model:
    """Returns a model with one method, `forward`.

    It is called with `args`, and then with each of `others`, which is a tuple of inputs or a single input.
    """
    if not isinstance(module, nn.Module):
        module = Lambda(module)
    calls = [Call("forward", args, kwargs or {})]
    calls += [Call("forward", x if isinstance(x, tuple) else (x,), kwargs or {}) for x in others]
    return Model({"forward": Method(module.eval(), args, kwargs or {}, dynamic)}, calls, tolerance)


def steps(module: nn.Module, *inputs: tuple[Any, ...]) -> Model:
    """Returns a model with one stateful method, which is called with each of the inputs in turn."""
    calls = [Call("forward", args, {}) for args in inputs]
    return Model({"forward": Method(module.eval(), inputs[0], {})}, calls)


class Lambda(nn.Module):
    """A module that calls `function(*modules, *inputs)`."""

    def __init__(self, function: Callable[..., Any], *parts: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.parts = nn.ModuleList(parts)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*self.parts, *args, **kwargs)


def randint(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape)
