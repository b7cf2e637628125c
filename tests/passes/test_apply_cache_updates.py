"""Updates of caches of cross attention. Results and caches of several calls are those of eager PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import rushlight
from rushlight.compiler.edge import to_edge
from rushlight.ir.cross_attention_ops import update_cross_attn_cache
from rushlight.ir.errors import CompileError
from rushlight.passes.apply_cache_updates import updates_caches

update = torch.ops.executorch.update_cross_attn_cache
POSITIONS = 4


class Caches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.arange(16.0).reshape(1, 2, POSITIONS, 2))
        self.register_buffer("values", torch.ones(1, 2, POSITIONS, 2))
        self.keys: torch.Tensor
        self.values: torch.Tensor


class Always(Caches):
    """Each call updates both caches, and reads one of them before and after the update."""

    def forward(self, x: torch.Tensor, first: torch.Tensor) -> Any:
        before = self.keys * 1
        keys = update(x, self.keys)
        update(x * 2, self.values)
        return before, keys + 1, self.values - first


class Twice(Caches):
    """The second update writes over a part of the first."""

    def forward(self, x: torch.Tensor, first: torch.Tensor) -> Any:
        update(x, self.keys)
        return update(x[:, :, :1] * 3, self.keys) + first, self.keys


class Cond(Caches):
    """Only the first call computes keys and values, as in a decoder with an encoder."""

    def forward(self, x: torch.Tensor, first: torch.Tensor) -> Any:
        def computed(x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Any:
            return update(x * 2, keys), update(x + 1, values)

        def kept(x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Any:
            return keys.clone(), values.clone()

        keys, values = torch.cond(first.sum() > 0, computed, kept, (x, self.keys, self.values))
        return keys + values, self.keys * 2


class Sides(Caches):
    """The branches update different caches. Their results are other tensors."""

    def forward(self, x: torch.Tensor, first: torch.Tensor) -> Any:
        def one(x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
            return update(x, keys) + 1

        def other(x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
            return update(x - 5, values) * keys

        (result,) = (torch.cond(first.sum() > 0, one, other, (x, self.keys, self.values)),)
        return result, self.keys + self.values


@pytest.mark.parametrize("make", [Always, Twice, Cond, Sides])
@pytest.mark.parametrize("dynamic", [False, True])
def test_results_of_several_calls(make: type[Caches], dynamic: bool) -> None:
    x, first = torch.randn(1, 2, 3, 2), torch.tensor([1.0])
    tokens = {2: torch.export.Dim("tokens", min=2, max=POSITIONS)} if dynamic else None
    eager = make()
    exported = torch.export.export(copy.deepcopy(eager), (x, first), dynamic_shapes=(tokens, None))
    program = rushlight.load(to_edge(exported).to_executorch().buffer)
    for call, count in enumerate((3, 2, 4) if dynamic else (3, 3, 3)):
        given = torch.randn(1, 2, count, 2), torch.tensor([float(call == 0)])
        expected = eager(*given)
        torch.testing.assert_close(tuple(program(*given)), tuple(expected))


def test_the_signature_names_the_results() -> None:
    program = to_edge(torch.export.export(Twice(), (torch.randn(1, 2, 3, 2), torch.tensor([1.0]))))
    exported = program.exported_program()
    names = [result.name for result in exported.graph.output_node().args[0]]
    assert [spec.arg.name for spec in exported.graph_signature.output_specs] == names
    assert list(exported.graph_signature.buffers_to_mutate.values()) == ["keys"]


def test_the_exported_program_is_not_changed() -> None:
    exported = torch.export.export(Cond(), (torch.randn(1, 2, 3, 2), torch.tensor([1.0])))
    to_edge(exported)
    assert updates_caches(exported.graph_module)


def test_an_input_is_updated() -> None:
    class OfInput(torch.nn.Module):
        def forward(self, x: torch.Tensor, cache: torch.Tensor) -> Any:
            return update(x, cache) + cache

    x, cache = torch.randn(1, 2, 3, 2), torch.zeros(1, 2, POSITIONS, 2)
    exported = torch.export.export(OfInput(), (x, cache))
    edge = to_edge(exported)
    assert list(edge.exported_program().graph_signature.user_inputs_to_mutate.values()) == ["cache"]
    program = rushlight.load(edge.to_executorch().buffer)
    torch.testing.assert_close(program(x, cache.clone()), OfInput()(x, cache.clone()))


def test_a_part_of_a_buffer_is_refused() -> None:
    class Part(Caches):
        def forward(self, x: torch.Tensor) -> Any:
            return update(x, self.keys[:, :1])

    with pytest.raises(CompileError, match="not a whole buffer"):
        to_edge(torch.export.export(Part(), (torch.randn(1, 1, 3, 2),)))


@pytest.mark.parametrize(
    ("value", "cache", "message"),
    [
        (torch.ones(1, 2, 3), torch.ones(1, 2, 4, 2), "4 dimensions"),
        (torch.ones(1, 2, 3, 2).double(), torch.ones(1, 2, 4, 2), "same dtype"),
        (torch.ones(2, 2, 3, 2), torch.ones(1, 2, 4, 2), "only in dim 2"),
        (torch.ones(1, 2, 5, 2), torch.ones(1, 2, 4, 2), "5 tokens exceed"),
    ],
)
@pytest.mark.parametrize("function", [update, update_cross_attn_cache])
def test_wrong_arguments(value: torch.Tensor, cache: torch.Tensor, message: str, function: Any) -> None:
    with pytest.raises(RuntimeError, match=message):
        function(value, cache)


def test_the_result_does_not_share_memory_with_the_cache() -> None:
    cache = torch.zeros(1, 2, POSITIONS, 2)
    result = update(torch.ones(1, 2, 1, 2), cache)
    assert torch.equal(result, cache) and cache.sum() == 4
    assert result.data_ptr() != cache.data_ptr()
