"""Small functions on nodes, specs and annotations."""

from __future__ import annotations

import pytest
import torch
from torch.export import export
from torchao.quantization.pt2e.observer import MinMaxObserver
from torchao.quantization.pt2e.quantizer import QuantizationSpec

from rushlight.compat import graph_queries as q
from rushlight.exir import to_edge
from rushlight.ir.spec import TensorSpec


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", torch.ones(2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.cond(x.sum() > 0, lambda t: t.relu(), lambda t: t * 2, (x,))
        return y, torch._higher_order_ops.while_loop(lambda t: t.sum() < 3, lambda t: (t + 1,), (self.b,))[0]


def test_nodes() -> None:
    program = to_edge(export(Branches(), (torch.ones(2),))).exported_program()
    graph_module = program.graph_module
    assert len(list(q.get_cond_nodes(graph_module))) == len(list(q.get_while_nodes(graph_module))) == 1
    assert not list(q.get_map_nodes(graph_module)) and not list(q.get_scan_nodes(graph_module))
    parameters = [node.name for node in graph_module.graph.nodes if q.is_param_node(program, node)]
    assert "b_b" in parameters and "x" not in parameters


def test_specs() -> None:
    edge = to_edge(export(torch.nn.ReLU(), (torch.ones(2),)))
    graph_module = edge.to_executorch().exported_program().graph_module
    (given,), (returned,) = q.get_input_specs(graph_module), q.get_return_specs(graph_module)
    assert list(given.shape) == list(returned.shape) == [2] and given is not returned
    made = q.make_spec(torch.ones(3, dtype=torch.int8))
    assert isinstance(made, TensorSpec) and made.dtype == torch.int8
    assert (q.make_spec(2), q.make_spec("text")) == (2, None)


def test_numbers_of_formats() -> None:
    assert (q.layout_enum(torch.strided), q.memory_format_enum(torch.preserve_format)) == (0, 1)
    with pytest.raises(KeyError):
        q.memory_format_enum(torch.channels_last)


def test_relu_nodes() -> None:
    graph = export(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()), (torch.ones(2),)).graph
    assert [node.name for node in graph.nodes if q.is_relu_node(node)] == ["relu"]


def test_changed_specs_of_quantization() -> None:
    spec = QuantizationSpec(torch.int8, MinMaxObserver, -128, 127, torch.per_tensor_affine)
    changed = q.change_quantization_config(spec, quant_min=-7, qscheme=None)
    assert (changed.quant_min, changed.quant_max, changed.qscheme) == (-7, 127, torch.per_tensor_affine)
