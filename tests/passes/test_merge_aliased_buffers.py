"""Stored tensors that share memory. Results of several calls are those of eager PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch.export import export

import rushlight
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.ir.errors import CompileError
from rushlight.passes.merge_aliased_buffers import merge_aliased_buffers


class Aliased(torch.nn.Module):
    """Adds to the buffer `a`, and reads `b` before and after. `parts` makes both from one storage."""

    a: torch.Tensor
    b: torch.Tensor

    def __init__(self, parts: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]) -> None:
        super().__init__()
        a, b = parts(torch.arange(16.0))
        self.register_buffer("a", a)
        self.register_buffer("b", b)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        before = self.b * 1
        self.a.add_(x)
        return before, self.b + 0, self.a


CASES = {
    "overlapping": lambda s: (s[:8], s[4:12]),
    "part": lambda s: (s, s[3:5]),
    "rows": lambda s: (s.view(4, 4)[1], s.view(4, 4)),
    "columns": lambda s: (s.view(4, 4), s.view(4, 4)[:, 1]),
    "write to columns": lambda s: (s.view(4, 4)[:, 1:3], s.view(4, 4)),
    "transposed": lambda s: (s.view(2, 8), s.view(2, 8).t()),
    "write to transposed": lambda s: (s.view(2, 8).t(), s[3:10]),
    "other shape": lambda s: (s.view(2, 2, 4), s.view(4, 4)),
    "permuted": lambda s: (s[8:].view(2, 2, 2).permute(1, 0, 2), s[6:]),
    "expanded": lambda s: (s[:1], s[:1].expand(3)),
    "number": lambda s: (s[5], s),
    "channels last": lambda s: (s.view(1, 2, 4, 2).permute(0, 3, 1, 2), s.view(2, 8)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_write_changes_all_tensors_of_the_storage(name: str) -> None:
    eager = Aliased(CASES[name])
    compiled = rushlight.load(rushlight.compile(Aliased(CASES[name]), (torch.ones(()),), partitioner=()))
    for value in (1.0, 2.0):
        x = torch.tensor(value)
        for want, got in zip(eager(x), compiled(x), strict=True):
            assert torch.equal(want, got)


class Layers(torch.nn.Module):
    """Layers whose caches are parts of one tensor, which the model clears, and a parameter that is also a
    buffer.
    """

    caches: torch.Tensor
    alias: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        caches = torch.zeros(3, 4)
        self.layers = torch.nn.ModuleList(torch.nn.Module() for _ in range(3))
        for layer, cache in zip(self.layers, caches, strict=True):
            layer.register_buffer("cache", cache)
        self.register_buffer("caches", caches)
        self.weight = torch.nn.Parameter(torch.ones(4), requires_grad=False)
        self.register_buffer("alias", self.weight.data)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        for layer in self.layers:
            x = layer.cache.add_(x) * 2  # type: ignore[operator]
        total = self.caches.sum(0)
        self.caches[0].zero_()
        self.alias.mul_(2)
        return x, total, self.weight + self.caches[0]


@pytest.mark.parametrize(
    "partitioner", [None, (), (XnnpackPartitioner(),)], ids=["cpu", "kernels", "xnnpack"]
)
def test_caches_of_layers(partitioner: object) -> None:
    x = torch.randn(4)
    options = {} if partitioner is None else {"partitioner": partitioner}
    compiled = rushlight.load(rushlight.compile(Layers(), (x,), **options))  # type: ignore[arg-type]
    eager = Layers()
    for _ in range(3):
        for want, got in zip(eager(x), compiled(x), strict=True):
            torch.testing.assert_close(got, want)


def test_tensors_that_the_program_does_not_write_stay_apart() -> None:
    class Reader(Aliased):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return self.a + x, self.b + x

    for parts in (CASES["overlapping"], lambda s: (s[:8], s[8:])):
        program = export(Reader(parts), (torch.ones(()),))
        assert merge_aliased_buffers({"forward": program})["forward"] is program
    disjoint = export(Aliased(lambda s: (s[:8], s[8:])), (torch.ones(()),))
    assert merge_aliased_buffers({"forward": disjoint})["forward"] is disjoint


def test_the_program_is_not_changed() -> None:
    program = export(Aliased(CASES["overlapping"]), (torch.ones(()),))
    before = copy.deepcopy(program.graph_signature), str(program.graph), list(program.state_dict)
    merged = merge_aliased_buffers({"forward": program})["forward"]
    assert (program.graph_signature, str(program.graph), list(program.state_dict)) == before
    assert [spec.target for spec in merged.graph_signature.input_specs] == ["a_storage0", None]
    assert merged.state_dict["a_storage0"].shape == (12,)


def test_shared_memory_of_different_dtypes_is_refused() -> None:
    model = Aliased(lambda s: (s, s.view(torch.int32)))
    with pytest.raises(CompileError, match=r"a \(torch.float32\), b \(torch.int32\)"):
        rushlight.compile(model, (torch.ones(()),))
