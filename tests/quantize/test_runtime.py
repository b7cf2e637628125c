"""The results of compiled quantized programs differ from those in torch by at most one quantum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn
from torch.fx import GraphModule, Node
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves
from torchao.quantization.pt2e import MinMaxObserver, move_exported_model_to_eval

import rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.quantize import (
    DerivedQuantizationSpec,
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
    convert_pt2e,
    dynamic_int8,
    dynamic_int8_weight_int4,
    prepare_qat_pt2e,
    quantize,
    static_int8,
    static_int16,
    weight_only_int4,
    weight_only_int8,
)

aten = torch.ops.aten
qd = torch.ops.quantized_decomposed

KERNELS: list[Any] = []
XNNPACK: list[Any] = [XnnpackPartitioner()]
DEFAULT = None


class Chain(nn.Module):
    """A layer, and a function of its results."""

    def __init__(self, layer: nn.Module, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.layer = layer
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self.layer(x))


class Add(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + x.flip(-1))


class Mul(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x.flip(-1)


def linear() -> nn.Module:
    return nn.Linear(64, 24)


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 24))


def conv() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6())


def depthwise() -> nn.Module:
    return nn.Conv2d(3, 6, 3, stride=2, groups=3, bias=False)


def grouped() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 1), nn.Conv2d(8, 12, 3, groups=4, dilation=2))


def line() -> nn.Module:
    return nn.Conv1d(5, 8, 3, padding=1)


def transposed() -> nn.Module:
    return nn.ConvTranspose2d(3, 4, 2, stride=2)


def table() -> nn.Module:
    return nn.Embedding(40, 64)


def over_images() -> nn.Module:
    """Returns operators with the quantization parameters of their input: movements, clamps, means."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.cat([F.max_pool2d(x, 3, 1, 1), x.clamp(-0.3, 0.4)], 1)
        moved = y[:, 1:11].permute(0, 2, 3, 1).flatten(1)
        return moved, x.mean((2, 3)), F.avg_pool2d(x, 3), F.adaptive_avg_pool2d(x, 1)

    return Chain(nn.Conv2d(3, 8, 3, padding=1), function)


def functions() -> nn.Module:
    """Returns functions of one number."""
    kinds = (torch.sigmoid, torch.tanh, F.gelu, F.silu, F.hardswish, F.hardsigmoid, F.leaky_relu, F.elu)
    return Chain(linear(), lambda x: tuple(kind(x) for kind in kinds))  # type: ignore[operator]


ROWS, ROW, IMAGE, WORDS, WAVE = "rows", "row", "image", "words", "wave"


def example(kind: str, seed: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    if kind == WORDS:
        return (torch.randint(0, 40, (3, 7), generator=generator),)
    shape = {ROWS: (5, 64), ROW: (1, 64), IMAGE: (2, 3, 9, 9), WAVE: (5, 64)}[kind]
    return (torch.randn(shape, generator=generator),)


@dataclass(frozen=True)
class Case:
    """A model and a configuration. exact: only sums of floats are rounded at run time."""

    name: str
    model: Callable[[], nn.Module]
    kind: str
    config: Callable[[], Any]
    exact: bool = False


CASES = [
    Case("static linear", linear, ROWS, static_int8),
    Case("static linear per tensor", linear, ROWS, lambda: static_int8(per_channel=False)),
    Case("static perceptron", perceptron, ROWS, static_int8),
    Case("static conv, batch norm, clamp", conv, IMAGE, static_int8),
    Case("static depthwise", depthwise, IMAGE, static_int8),
    Case("static grouped", grouped, IMAGE, static_int8),
    Case("static line", line, WAVE, static_int8),
    Case("static transposed", transposed, IMAGE, static_int8),
    Case("static add, relu", Add, ROWS, static_int8),
    Case("static mul", Mul, ROWS, static_int8),
    Case("static images", over_images, IMAGE, static_int8),
    Case("static functions", functions, ROWS, static_int8),
    Case("static int16 linear", linear, ROWS, static_int16),
    Case("static int16 conv", conv, IMAGE, static_int16),
    Case("static int16 add", Add, ROWS, static_int16),
    Case("dynamic linear", linear, ROWS, dynamic_int8),
    Case("dynamic linear per tensor", linear, ROWS, lambda: dynamic_int8(per_channel=False)),
    Case("dynamic linear per token", linear, ROWS, lambda: dynamic_int8(per_token=True)),
    Case("dynamic linear, 4-bit weights", linear, ROWS, dynamic_int8_weight_int4),
    Case("8-bit weights", linear, ROWS, weight_only_int8, exact=True),
    Case("8-bit weights by group", linear, ROWS, lambda: weight_only_int8(group_size=16), exact=True),
    Case("4-bit weights by group", linear, ROWS, weight_only_int4, exact=True),
    Case("4-bit weights by small group", linear, ROWS, lambda: weight_only_int4(group_size=8), exact=True),
    Case("4-bit weights by inputs", linear, ROWS, lambda: weight_only_int4(by_inputs=True), exact=True),
    Case("8-bit embedding", table, WORDS, weight_only_int8, exact=True),
    Case("4-bit embedding", table, WORDS, weight_only_int4, exact=True),
    Case("embedding of a dynamic program", table, WORDS, dynamic_int8, exact=True),
]

# Its scales for groups are bfloat16.
COARSE = "dynamic linear, 4-bit weights"
ON_XNNPACK = [
    case for case in CASES if not any(word in case.name for word in ("int16", "embedding", "functions"))
]


def quanta(program: Any) -> list[float]:
    """Returns for each result its scale, or the largest effect of one step of a dynamic input."""
    found = []
    weights = [value for value in program.module().state_dict().values() if value.is_floating_point()]
    largest = max((float(value.detach().abs().max()) for value in weights), default=0.2)
    for result in program.graph.output_node().args[0]:
        static = result.target is qd.dequantize_per_tensor.default
        found.append(float(result.args[1]) if static else 6 / 255 * min(largest, 0.2))
    return found


def check(
    program: Any,
    inputs: list[tuple[torch.Tensor, ...]],
    exact: bool = False,
    partitioner: Any = KERNELS,
    coarse: bool = False,
) -> None:
    """Compares a compiled program with torch.

    exact: only float rounding. coarse: differences of up to 1/256 of the largest value.
    """
    run = rushlight.load(rushlight.compile(program, partitioner=partitioner).buffer)
    eager = program.module()
    differing = total = 0
    for x in inputs:
        for expected, actual, step in zip(
            tree_leaves(eager(*x)), tree_leaves(run(*x)), quanta(program), strict=True
        ):
            apart = (expected - torch.as_tensor(actual)).abs()
            bound = float(expected.abs().max()) / 256 if coarse else step
            assert float(apart.detach().max()) <= (1e-5 if exact else 1.001 * bound)
            differing += int((apart > 1e-5).sum())
            total += apart.numel()
    # Ties may round differently. Most results are equal.
    assert coarse or differing <= 0.05 * total


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_after_training(case: Case) -> None:
    torch.manual_seed(0)
    inputs = [example(case.kind, seed) for seed in range(3)]
    quantizer = CpuQuantizer().set_global(case.config())
    program = quantize(case.model().eval(), inputs[0], quantizer, inputs)
    check(program, inputs, case.exact, KERNELS)
    check(program, inputs, case.exact, DEFAULT)


@pytest.mark.parametrize("case", ON_XNNPACK, ids=lambda case: case.name)
def test_after_training_on_xnnpack(case: Case) -> None:
    torch.manual_seed(0)
    # XNNPACK computes a range for each row, and the pattern one for all rows. Here they are equal.
    kind = ROW if "dynamic" in case.name else case.kind
    inputs = [example(kind, seed) for seed in range(3)]
    quantizer = XNNPACKQuantizer().set_global(case.config())
    program = quantize(case.model().eval(), inputs[0], quantizer, inputs)
    check(program, inputs, case.exact, XNNPACK, case.name == COARSE)


def trained(
    quantizer: Quantizer, make: Callable[[], nn.Module], inputs: list[tuple[torch.Tensor, ...]]
) -> Any:
    torch.manual_seed(0)
    model = make().train()
    prepared = prepare_qat_pt2e(torch.export.export(model, inputs[0]), quantizer)
    optimizer = torch.optim.SGD(prepared.parameters(), lr=1e-2)
    for x in inputs:
        prepared(*x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    if any(isinstance(part, nn.BatchNorm2d) for part in model.modules()):
        move_exported_model_to_eval(prepared)
    return torch.export.export(convert_pt2e(prepared), inputs[0], strict=False)


@pytest.mark.parametrize(
    ("make", "kind", "config"),
    [
        pytest.param(linear, ROWS, lambda: static_int8(qat=True), id="linear"),
        pytest.param(
            *(conv, IMAGE, lambda: get_symmetric_quantization_config(is_per_channel=True, is_qat=True)),
            id="conv, batch norm, clamp",
            marks=pytest.mark.long,
        ),
        pytest.param(perceptron, ROW, lambda: dynamic_int8(qat=True), id="dynamic"),
    ],
)
def test_trained(make: Callable[[], nn.Module], kind: str, config: Any) -> None:
    inputs = [example(kind, seed) for seed in range(4)]
    program = trained(XNNPACKQuantizer().set_global(config()), make, inputs)
    assert any("quantize" in str(node.target) for node in program.graph.nodes)
    for partitioner in (KERNELS, DEFAULT, XNNPACK):
        check(program, inputs, partitioner=partitioner)


def test_trained_in_int16() -> None:
    inputs = [example(ROWS, seed) for seed in range(4)]
    check(trained(CpuQuantizer().set_global(static_int16(qat=True)), linear, inputs), inputs)


def _int8(scheme: torch.qscheme = torch.per_tensor_affine) -> QuantizationSpec:
    return QuantizationSpec(torch.int8, MinMaxObserver, -128, 127, scheme)


class SpecQuantizer(Quantizer):
    """A linear layer with derived bias parameters, then functions with fixed and with shared parameters."""

    def annotate(self, model: GraphModule) -> GraphModule:
        for node in model.graph.nodes:
            if node.target is aten.linear.default:
                self._linear(node)
            elif node.target in (aten.sigmoid.default, aten.softmax.int):
                self._set(node, {}, FixedQParamsQuantizationSpec(torch.int8, 1 / 256, -128, -128, 127))
            elif node.target is aten.flip.default:
                shared = SharedQuantizationSpec((node.args[0], node))
                self._set(node, {node.args[0]: _int8()}, shared)
        return model

    def _linear(self, node: Node) -> None:
        act, weight, bias = node.args[:3]

        def derive(observed: list[Any]) -> tuple[torch.Tensor, torch.Tensor]:
            scale = observed[0].calculate_qparams()[0] * observed[1].calculate_qparams()[0]
            return scale, torch.zeros_like(scale, dtype=torch.int32)

        derived = DerivedQuantizationSpec(
            [(act, node), (weight, node)],
            derive,
            torch.int32,
            -(2**31) + 1,
            2**31 - 1,
            torch.per_tensor_symmetric,
        )
        specs = {act: _int8(), weight: _int8(torch.per_tensor_symmetric), bias: derived}
        self._set(node, specs, _int8())

    @staticmethod
    def _set(node: Node, inputs: dict[Any, Any], output: Any) -> None:
        node.meta["quantization_annotation"] = QuantizationAnnotation(inputs, output, _annotated=True)

    def validate(self, model: GraphModule) -> None:
        pass


def test_fixed_shared_and_derived_parameters() -> None:
    torch.manual_seed(0)
    inputs = [example(ROWS, seed) for seed in range(3)]
    model = Chain(linear(), lambda x: (torch.sigmoid(x).flip(-1), x.softmax(-1)))
    program = quantize(model.eval(), inputs[0], SpecQuantizer(), inputs)
    steps = [
        (node.args[1], node.args[2], node.args[5])
        for node in program.graph.nodes
        if node.target is qd.quantize_per_tensor.default
    ]
    assert (1 / 256, -128, torch.int8) in steps
    assert torch.int32 in {
        node.args[5] for node in program.graph.nodes if node.target is qd.dequantize_per_tensor.default
    }
    for partitioner in (KERNELS, DEFAULT, XNNPACK):
        check(program, inputs, partitioner=partitioner)
