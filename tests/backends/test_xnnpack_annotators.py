"""Functions that users register to annotate the operators of a pattern for XNNPACKQuantizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation

from rushlight.backends.xnnpack.annotators import OP_TO_ANNOTATOR, QuantPattern, register_annotator
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer
from rushlight.quantize import convert_pt2e, prepare_pt2e
from rushlight.quantize.specs import get_symmetric_quantization_config

aten = torch.ops.aten
STATIC = get_symmetric_quantization_config()
DYNAMIC = get_symmetric_quantization_config(is_dynamic=True)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.second(torch.relu(self.first(x))))


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = dict(OP_TO_ANNOTATOR)
    yield
    OP_TO_ANNOTATOR.clear()
    OP_TO_ANNOTATOR.update(before)


@pytest.fixture
def graph() -> GraphModule:
    exported = torch.export.export(Model().eval(), (torch.randn(2, 4),)).module()
    assert isinstance(exported, GraphModule)
    return exported


def annotated(graph: GraphModule) -> list[str]:
    found = (node for node in graph.graph.nodes if node.op == "call_function")
    return [node.name for node in found if node.meta.get("quantization_annotation") is not None]


def annotate_sigmoid(model: GraphModule, config: Any, filter_fn: Any = None) -> list[list[Node]]:
    found = []
    for node in model.graph.nodes:
        if node.target is aten.sigmoid.default and filter_fn(node):
            node.meta["quantization_annotation"] = QuantizationAnnotation(
                input_qspec_map={node.args[0]: config.input_activation},
                output_qspec=config.output_activation,
                _annotated=True,
            )
            found.append([node])
    return found


class WithSigmoid(XNNPACKQuantizer):
    SUPPORTED_PATTERNS = [
        *XNNPACKQuantizer.SUPPORTED_PATTERNS,
        QuantPattern("sigmoid", False, False, {aten.sigmoid.default}),
    ]


def test_a_pattern_of_the_user(graph: GraphModule) -> None:
    register_annotator("sigmoid")(annotate_sigmoid)
    x = torch.randn(2, 4)
    prepared = prepare_pt2e(graph, WithSigmoid().set_global(STATIC))
    prepared(x)
    converted = convert_pt2e(prepared)
    dequantize = torch.ops.quantized_decomposed.dequantize_per_tensor.default
    sigmoid = next(node for node in converted.graph.nodes if node.target is aten.sigmoid.default)
    assert sigmoid.args[0].target is dequantize
    torch.testing.assert_close(converted(x), graph(x), atol=0.05, rtol=0)


@pytest.mark.parametrize(
    ("config", "names"),
    [(STATIC, ["linear", "relu", "linear_1", "sigmoid"]), (DYNAMIC, ["linear", "linear_1"])],
)
def test_configurations_that_apply(graph: GraphModule, config: Any, names: list[str]) -> None:
    register_annotator("sigmoid")(annotate_sigmoid)
    WithSigmoid().set_global(config).annotate(graph)
    assert annotated(graph) == names


def test_the_operator_type_of_a_pattern_of_the_user(graph: GraphModule) -> None:
    register_annotator("sigmoid")(annotate_sigmoid)
    WithSigmoid().set_operator_type(aten.sigmoid.default, STATIC).annotate(graph)
    assert annotated(graph) == ["sigmoid"]


def test_a_replaced_pattern(graph: GraphModule) -> None:
    seen = []

    @register_annotator("linear")
    def leave(model: GraphModule, config: Any, filter_fn: Any = None) -> None:
        seen.append((config, [node.name for node in model.graph.nodes if filter_fn(node)][-1]))

    XNNPACKQuantizer().set_global(STATIC).annotate(graph)
    assert annotated(graph) == ["linear", "relu"] and len(seen) == 1 and seen[0][0] is STATIC


def test_functions_of_the_quantizer(graph: GraphModule) -> None:
    nodes = OP_TO_ANNOTATOR["linear_relu"](graph, STATIC, None)
    assert nodes is not None and [[node.name for node in match] for match in nodes] == [["linear", "relu"]]
    assert annotated(graph) == ["linear", "relu"]
    assert OP_TO_ANNOTATOR["linear"](graph, STATIC, lambda node: False) == []
    assert OP_TO_ANNOTATOR["linear"](graph, None, None) is None


def test_fewer_patterns(graph: GraphModule) -> None:
    class OnlyLinear(XNNPACKQuantizer):
        SUPPORTED_PATTERNS = [QuantPattern("linear", True, False, {aten.linear.default})]

    OnlyLinear().set_global(STATIC).annotate(graph)
    assert annotated(graph) == ["linear_1"]
