"""Buffers that a plan keeps between calls."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import assert_close, damaged, lower, plan_of, refusals
from torch import nn
from torch.nn import functional as F

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Copy, StorageKind
from rushlight.exir import to_edge_transform_and_lower
from rushlight.runtime import Runtime, RushlightError


class Decoder(nn.Module):
    """Attention with one head over earlier tokens. `kind` is the way in which the caches are written."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, kind: str, most: int = 6, width: int = 8) -> None:
        super().__init__()
        self.kind = kind
        self.most = most
        self.qkv = nn.Linear(width, 3 * width)
        self.register_buffer("keys", torch.zeros(1, 1, most, width))
        self.register_buffer("values", torch.zeros(1, 1, most, width))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        query, *new = self.qkv(x)[None].chunk(3, -1)
        for cache, item in zip((self.keys, self.values), new, strict=True):
            if self.kind == "index_copy":
                cache.index_copy_(2, position, item)
            elif self.kind == "index_put":
                cache[:, :, position] = item
            else:
                at = position.item()
                torch._check(at >= 0)
                torch._check(at < self.most)
                cache.narrow(2, at, 1).copy_(item)  # type: ignore[arg-type]
        mask = torch.arange(self.most) <= position[:, None]
        return F.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=mask[None, None])


def compare(model: nn.Module, program: bytes, calls: list[tuple[torch.Tensor, ...]]) -> None:
    """Compares the results of consecutive calls with eager PyTorch."""
    method = Runtime.get().load_program(program).load_method("forward")
    for inputs in calls:
        with torch.no_grad():
            want = model(*inputs)
        got = [torch.as_tensor(item) for item in method.execute(list(inputs))]
        assert_close(got, list(want) if isinstance(want, tuple) else [want])


@pytest.mark.parametrize("kind", ["index_copy", "index_put", "narrow"])
def test_caches_are_written_in_place(kind: str) -> None:
    torch.manual_seed(0)
    model = Decoder(kind)
    calls = [(torch.randn(1, 1, 8), torch.tensor([place])) for place in (0, 1, 2, 5, 3, 1)]
    program, outside = lower(model, calls[0])
    plan = plan_of(program)
    states = {i for i, storage in enumerate(plan.storages) if storage.kind == StorageKind.STATE}
    assert len(states) == 2
    if kind != "narrow":
        assert not outside
    # The whole cache is never copied.
    for step in plan.steps:
        if isinstance(step.operation, Copy):
            assert plan.values[step.operation.input].storage not in states
    compare(model, program, calls)  # type: ignore[arg-type]


def test_a_place_outside_of_the_cache_is_refused() -> None:
    model = Decoder("index_put")
    inputs = (torch.randn(1, 1, 8), torch.tensor([6]))
    program, _ = lower(model, (inputs[0], torch.tensor([0])))
    with pytest.raises(RushlightError, match="index 6"):
        Runtime.get().load_program(program).load_method("forward").execute(list(inputs))


class Mixed(nn.Module):
    """State that is read before and after its change, swapped states, initial values, several dtypes."""

    count: torch.Tensor
    total: torch.Tensor
    a: torch.Tensor
    b: torch.Tensor
    rows: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor([3]))
        self.register_buffer("total", torch.linspace(0, 1, 4))
        self.register_buffer("a", torch.ones(4))
        self.register_buffer("b", torch.zeros(4))
        self.register_buffer("rows", torch.zeros(3, 4))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        before = self.total * 2
        self.total += torch.relu(x)
        self.count += 1
        old = self.a + x
        self.a.copy_(self.b + 1)
        self.b.copy_(old)
        first = self.rows.sum(0)
        self.rows[1:2] = x
        self.rows[:, 2] = 5
        return before, self.total * 1, torch.where(self.count > 4, x, 0.0), first, self.rows * 1


def test_other_states() -> None:
    model = Mixed()
    calls = [(torch.randn(4),) for _ in range(4)]
    program, outside = lower(model, calls[0])
    assert not outside
    compare(model, program, calls)  # type: ignore[arg-type]


class Swap(nn.Module):
    a: torch.Tensor
    b: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.arange(4.0))
        self.register_buffer("b", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        old = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(old)
        return torch.relu(x) + self.a - self.b


def test_states_that_swap() -> None:
    model = Swap()
    calls = [(torch.randn(4),) for _ in range(3)]
    compare(model, lower(model, calls[0])[0], calls)  # type: ignore[arg-type]


class Two(nn.Module):
    """Two methods that share a cache."""

    cache: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(4))

    def write(self, x: torch.Tensor) -> torch.Tensor:
        self.cache.add_(torch.relu(x))
        return x * 2 + 1

    def read(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.cache + x) * 2


def test_state_of_several_methods_stays_with_the_program() -> None:
    model, x = Two(), torch.rand(4)
    programs = {}
    for name in ("write", "read"):
        model.forward = getattr(model, name)  # type: ignore[method-assign]
        programs[name] = torch.export.export(model, (x,))
    edge = to_edge_transform_and_lower(programs, partitioner=[CpuPartitioner()])
    program = Runtime.get().load_program(edge.to_executorch().buffer)
    write, read = program.load_method("write"), program.load_method("read")
    cache = torch.zeros(4)
    for _ in range(3):
        write.execute([x])
        cache += x
        got: Any = torch.as_tensor(read.execute([x])[0])
        assert_close([got], [torch.sigmoid(cache + x) * 2])


@pytest.mark.damage
def test_damaged_words_give_an_error_or_a_result() -> None:
    inputs = (torch.randn(1, 1, 8), torch.tensor([2]))
    assert refusals(damaged(lower(Decoder("index_put"), inputs)[0], 400, 5), inputs) > 40


def test_buffers_that_are_swapped_beside_a_kernel() -> None:
    """The new value of one buffer is the old value of the other, so that no part may own the buffers."""

    class Swap(nn.Module):
        a: torch.Tensor
        b: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.tensor(1.0))
            self.register_buffer("b", torch.tensor(10.0))

        def forward(self, mask: torch.Tensor) -> torch.Tensor:
            middle = mask.chunk(3, 1)[1]
            middle[middle] = True
            old = self.a.clone()
            self.a.copy_(self.b)
            self.b.copy_(old)
            return self.a + self.b + self.b

    mask = torch.zeros(1, 3, dtype=torch.bool)
    module = rushlight.load(rushlight.compile(torch.export.export(Swap(), (mask,))).buffer)
    eager = Swap()
    for _ in range(4):
        torch.testing.assert_close(module(mask.clone()), eager(mask.clone()))


def test_sums_by_index_of_a_compiled_program() -> None:
    """`rushlight.compile` does not decompose index_add. A plan contains it unless it has a factor."""

    class Sums(nn.Module):
        def forward(self, x: torch.Tensor, places: torch.Tensor) -> Any:
            y = torch.relu(x) * 2
            return torch.zeros(5, 4).index_add(0, places, y), (y * 3).index_add(0, places, x)

    inputs = (torch.randn(7, 4), torch.tensor([0, 4, 4, 1, 0, 4, 3]))
    partitioner = CpuPartitioner()
    program = rushlight.compile(Sums(), inputs, partitioner=[partitioner])
    assert not partitioner.report.reasons
    compare(Sums(), program.buffer, [inputs, (inputs[0], torch.tensor([2, 2, 2, 2, 2, 3, 0]))])
