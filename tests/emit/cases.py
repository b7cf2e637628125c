"""Small modules with each kind of value and instruction.

It imports only torch, so that other systems can use it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return {"sum": x + y, "rest": (x * y, 3)}


class ManyOutputs(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        a, b = torch.split(x, 2, dim=0)
        values, indices = torch.max(a, dim=1)
        return self.norm(b), values, indices, torch.cat([a, b], 1)


class Indexed(torch.nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return x[:, index]


class SharedWeights(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.second.load_state_dict(self.first.state_dict())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


class Reshaped(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        return torch.relu(x.reshape(x.shape[0] * 2, -1)), x.shape[0]


class Branch(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x + x, lambda x: torch.sigmoid(x * x), (x,))


class NestedBranch(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        def positive(x: Any, y: Any) -> Any:
            return torch.cond(y.sum() > 0, lambda x, y: x @ y, lambda x, y: x - y, (x, y))

        return torch.cond(x.sum() > 0, positive, lambda x, y: x * y, (x, y)).sum(0)


class Mapped(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch_map(lambda row, y: row + y, x, y) * 1.0  # type: ignore[arg-type]


class Scanned(torch.nn.Module):
    def forward(self, first: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return scan(lambda carry, x: (carry + x, carry * x), first, x)


class Looped(torch.nn.Module):
    def forward(self, count: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x @ x), (count, x))


class LoopedInt(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + x), (0, x))


class LoopedDynamic(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        start = torch.zeros(1, dtype=torch.int64)
        return while_loop(lambda i, x: i.sum() < 4, lambda i, x: (i + 1, x + x), (start, x))


class Counter(torch.nn.Module):
    count: torch.Tensor

    def __init__(self, start: Any = 1.0) -> None:
        super().__init__()
        self.register_buffer("count", torch.full((2,), start))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(x)
        return self.count * x


class OldState(torch.nn.Module):
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        old = self.count.clone()
        self.count.add_(x)
        return old


class Cache(torch.nn.Module):
    keys: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(4, 3))

    def forward(self, position: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        self.keys[position] = x
        return self.keys.sum(0)


class Found(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(x).sum()


class PassedThrough(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[Any, ...]:
        return x, y, x.view(-1), None


def grid(*shape: Any) -> Any:
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape) / 7 - 0.5


ROWS = {"x": {0: Dim("rows", max=10)}}
CASES = {
    "add": (Add, (grid(4), grid(4) + 1), None),
    "many_outputs": (ManyOutputs, (grid(4, 4),), None),
    "indexed": (Indexed, (grid(3, 4), torch.tensor([0, 2])), None),
    "shared_weights": (SharedWeights, (grid(3, 4),), None),
    "reshaped": (Reshaped, (grid(4, 4),), ROWS),
    "branch": (Branch, (grid(4, 4),), None),
    "nested_branch": (NestedBranch, (grid(4, 4), grid(4, 4)), None),
    "mapped": (Mapped, (grid(4, 4), grid(4)), None),
    "scanned": (Scanned, (grid(3), grid(5, 3)), None),
    "looped": (Looped, (torch.tensor(0), grid(4, 4)), None),
    "looped_int": (LoopedInt, (grid(4, 4),), None),
    "looped_dynamic": (LoopedDynamic, (grid(4, 4),), ROWS),
    "counter": (Counter, (torch.ones(2),), None),
    "old_state": (OldState, (torch.ones(2),), None),
    "cache": (Cache, (torch.tensor([1]), torch.ones(3)), None),
    "found": (Found, (grid(4, 4),), None),
    "passed_through": (PassedThrough, (grid(4), grid(4) + 1), None),
}
