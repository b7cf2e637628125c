"""Selected nodes of a Core ATen program are decomposed. The others do not change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim, export
from torch.nn import functional as F

from rushlight.frontend.decompose import decompose
from rushlight.frontend.expand_nodes import expand_nodes
from rushlight.frontend.recorder import NeedsFallback
from rushlight.ir.facts import MethodProgram
from rushlight.passes.base import graph_modules

aten = torch.ops.aten
X = torch.randn(4, 6)


class Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, x)


def in_a_body(self: Any, x: torch.Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda y: F.hardswish(y), lambda y: y - 1, (x,))


def changed_layout(self: Any, x: torch.Tensor) -> Any:
    image = x.view(1, 4, 3, 2).to(memory_format=torch.channels_last)
    return F.pixel_unshuffle(image[:, :, :2], 2) + 1


CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "one result": (lambda self, x: F.hardswish(x) * 2, aten.hardswish.default),
    "a result of the program": (lambda self, x: F.hardswish(x), aten.hardswish.default),
    "several results": (lambda self, x: torch.aminmax(x, dim=1)[0] + 1, aten.aminmax.default),
    "a composite operator": (lambda self, x: self.linear(x).relu(), aten.linear.default),
    "in a body of control flow": (in_a_body, aten.hardswish.default),
    "another layout": (changed_layout, aten.pixel_unshuffle.default),
}


def operators(program: MethodProgram) -> Counter[Any]:
    return Counter(
        node.target
        for module in graph_modules(program.graph_module)
        for node in module.graph.nodes
        if node.op == "call_function"
    )


def nodes_of(program: MethodProgram, op: Any) -> list[Any]:
    graphs = [module.graph for module in graph_modules(program.graph_module)]
    return [node for graph in graphs for node in graph.nodes if node.target is op]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_expanded_nodes_are_what_decomposition_makes(name: str, dynamic: bool) -> None:
    function, op = CASES[name]
    if dynamic and name == "another layout":
        pytest.skip("the sizes of an image are fixed here")
    shapes = ({0: Dim("rows", min=2, max=9)},) if dynamic else None
    module = Function(function).eval()
    program = export(module, (X,), dynamic_shapes=shapes)
    kept = decompose(program, [op])
    assert operators(kept)[op] == 1
    expanded = expand_nodes(kept, nodes_of(kept, op), [])
    expanded.graph.lint()
    assert operators(expanded) == operators(decompose(program))
    x = torch.randn(7, 6) if dynamic else X
    torch.testing.assert_close(expanded.module()(x), module(x))


def test_other_nodes_of_the_operator_stay() -> None:
    module = Function(lambda self, x: (F.hardswish(x), F.hardswish(x * 2)))
    kept = decompose(export(module, (X,)), [aten.hardswish.default])
    first, _ = nodes_of(kept, aten.hardswish.default)
    expanded = expand_nodes(kept, [first], [])
    assert operators(expanded)[aten.hardswish.default] == 1
    torch.testing.assert_close(expanded.module()(X), module(X))


def test_metadata_follows_a_change_of_layout() -> None:
    program = decompose(export(Function(changed_layout), (X,)), [aten.pixel_unshuffle.default])
    expanded = expand_nodes(program, nodes_of(program, aten.pixel_unshuffle.default), [])
    whole = decompose(export(Function(changed_layout), (X,)))
    (given,), (wanted,) = (p.graph.output_node().args[0] for p in (expanded, whole))
    assert given.meta["val"].stride() == wanted.meta["val"].stride()  # type: ignore[union-attr]


def test_an_operator_without_a_decomposition_is_refused() -> None:
    program = decompose(export(Function(lambda self, x: torch.relu(x)), (X,)))
    with pytest.raises(NeedsFallback, match="aten.relu.* does not support its arguments"):
        expand_nodes(program, nodes_of(program, aten.relu.default), [])


def test_a_view_that_the_new_layout_does_not_allow_needs_the_whole_program() -> None:
    def attend(self: Any, x: torch.Tensor) -> torch.Tensor:
        heads = self.linear(x).view(2, 4, 2, 3).transpose(1, 2)
        y = F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(2)
        return self.linear(y)

    attention, linear = aten.scaled_dot_product_attention.default, aten.linear.default
    program = decompose(export(Function(attend), (torch.randn(2, 4, 6),)), [attention, linear])
    program = expand_nodes(program, nodes_of(program, linear), [attention])
    with pytest.raises(NeedsFallback, match="layout changes"):
        expand_nodes(program, nodes_of(program, attention), [])
