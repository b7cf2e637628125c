"""Metadata of nodes, and the text form of programs."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from rushlight.compiler.edge import to_edge
from rushlight.ir import meta, sym
from rushlight.ir.errors import InternalError
from rushlight.ir.report import Refusal, refusal_table
from rushlight.ir.text import format_graph, inspect_node


def node_with_trace(trace: Any) -> Any:
    node = torch.fx.Graph().placeholder("x")
    node.meta["stack_trace"] = trace
    return node


def test_source_is_the_innermost_line_outside_torch() -> None:
    torch_file = torch.nn.functional.__file__
    node = node_with_trace(
        '  File "/me/net.py", line 3, in forward\n    return self.block(x)\n'
        '  File "/me/block.py", line 9, in forward\n    return F.relu(x)\n'
        f'  File "{torch_file}", line 1700, in relu\n    result = torch.relu(input)\n'
    )
    source = meta.source_of(node)
    assert source is not None
    assert (source.file, source.line, source.function, source.code) == (
        "/me/block.py",
        9,
        "forward",
        "return F.relu(x)",
    )
    assert str(source) == "/me/block.py:9" and len(list(meta.source_frames(node))) == 3
    assert meta.source_of(node_with_trace("")) is None
    generated = '\n  File "<eval_with_key>.7", line 5, in forward\n    relu = torch.relu(x)'
    inside = node_with_trace(node.meta["stack_trace"].rstrip() + generated)
    assert meta.source_of(inside) == source


def test_accessors() -> None:
    graph = torch.fx.Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    with pytest.raises(InternalError, match="node a .* has no value metadata"):
        meta.get_val(a)
    meta.set_val(a, torch.ones(2))
    meta.set_debug_handle(a, 7)
    meta.set_delegation_tag(a, "part")
    meta.set_constant_tag(a, "weights")
    meta.copy_origin(a, b)
    assert meta.get_debug_handle(b) == 7 and meta.get_delegation_tag(b) == "part"
    assert meta.get_constant_tag(b) is None and not meta.has_val(b)
    meta.clear_delegation_tag(b)
    assert meta.get_delegation_tag(b) is None
    assert meta.tensor_specs(a) == [] and meta.origin_of(a) == "a"


def test_bounds_of_symbolic_sizes(export_case: Any) -> None:
    x = next(node for node in export_case("dynamic_batch").graph.nodes if node.name == "x")
    batch = meta.get_val(x).shape[0]
    assert sym.is_symbolic(batch) and sym.hint(batch) == 3 and sym.has_hint(batch)
    assert sym.bounds(batch)[1] == 16 == sym.upper_bound(batch) and sym.upper_bound(batch * 5 + 1) == 81
    assert sym.upper_shape((batch, 4)) == (16, 4) and sym.bounds(4) == (4, 4)
    nonzero = next(node for node in export_case("data_dependent").graph.nodes if node.name == "nonzero")
    assert sym.hint(meta.get_val(nonzero).shape[0]) is None
    assert sym.upper_bound(meta.get_val(nonzero).shape[0]) == 4


def test_text_of_each_stage(export_case: Any) -> None:
    manager = to_edge(export_case("digits_cnn"))
    lines = format_graph(manager.exported_program().graph_module).splitlines()
    convolution = next(line for line in lines if line.startswith("%aten_convolution_default:"))
    assert "f32[1, 16, 8, 8] = aten.convolution.default(%x, %p_features_0_weight" in convolution
    assert re.search(r"# .*programs\.py:\d+$", convolution)
    assert lines[-1] == "return (%aten_addmm_default)"
    planned = format_graph(manager.to_executorch().exported_program().graph_module)
    assert re.search(r"%aten_relu_default: f32\[1, 16, 8, 8\] @1\+\d+ = relu.out\(", planned)


def test_text_of_control_flow_and_symbols(export_case: Any) -> None:
    text = format_graph(to_edge(export_case("cond")).exported_program().graph_module)
    assert "submodule_0:" in text and "    %aten_sin_default: f32[2, 3]" in text
    text = format_graph(to_edge(export_case("dynamic_batch")).exported_program().graph_module)
    assert re.search(r"%x: f32\[s\d+, 4\] = input x", text)


def test_inspect_node(export_case: Any) -> None:
    program = to_edge(export_case("conv_bn")).exported_program()
    node = next(node for node in program.graph.nodes if "relu" in node.name)
    text = inspect_node(program.graph, node)
    assert "--> %aten_relu_default" in text and "Stack trace" in text and "return self.up(" in text


def test_tables_of_refusals(export_case: Any) -> None:
    node = next(node for node in export_case("add").graph.nodes if node.op == "call_function")
    refusal = Refusal.of(node, "do this")
    lines = refusal_table([refusal, refusal]).splitlines()
    assert len(lines) == 3 and lines[0].split() == ["operator", "dtypes", "source", "what", "would", "help"]
    assert "float32, float32" in lines[2] and "programs.py:" in lines[2] and lines[2].endswith("do this")
