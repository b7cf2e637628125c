"""The quantizers of the backends: their annotations for each configuration, and the errors of the results."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation

import rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.backends.xnnpack.quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
    propagate_annotation,
)
from rushlight.quantize import (
    ComposableQuantizer,
    QuantizationError,
    QuantizationWarning,
    convert_pt2e,
    dynamic_int8,
    dynamic_int8_weight_int4,
    prepare_pt2e,
    prepare_qat_pt2e,
    quantize,
    static_int8,
    static_int16,
    weight_only_int4,
    weight_only_int8,
)

aten = torch.ops.aten
qd = torch.ops.quantized_decomposed


class Image(torch.nn.Module):
    """Every pattern of image networks."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU6()
        )
        self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.up = torch.nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.head = torch.nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.stem(x)
        y = F.relu(y + self.depthwise(y))
        y = F.max_pool2d(F.relu(self.up(y)), 2)
        y = torch.cat([y, y * 0.5], 1)
        return self.head(y.mean((2, 3)))


class Text(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(20, 64)
        self.up = torch.nn.Linear(64, 128)
        self.down = torch.nn.Linear(128, 64, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids)
        return x + self.down(F.gelu(self.up(x)))


def image() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return Image().eval(), (torch.randn(2, 3, 12, 12),)


def text() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return Text().eval(), (torch.randint(0, 20, (2, 5)),)


def snr(model: Any, program: Any, inputs: tuple[Any, ...]) -> float:
    expected = model(*inputs)
    error = program.module()(*inputs) - expected
    return float(10 * torch.log10(expected.square().sum() / error.square().sum()))


def operators(program: Any) -> Counter[Any]:
    return Counter(node.target for node in program.graph.nodes if node.op == "call_function")


def quantized_results(program: Any) -> set[Any]:
    """Returns the operators whose results are quantized."""
    quantize_ops = (qd.quantize_per_tensor.default,)
    return {
        node.args[0].target
        for node in program.graph.nodes
        if node.target in quantize_ops and node.args[0].args
    }


@pytest.mark.parametrize("quantizer", [XNNPACKQuantizer, CpuQuantizer])
def test_static_fuses_activations_and_keeps_every_pattern_in_int8(quantizer: Any) -> None:
    model, inputs = image()
    program = quantize(model, inputs, quantizer().set_global(static_int8()), [inputs])
    assert snr(model, program, inputs) > 25
    results = quantized_results(program)
    # The clamp and the ReLU are fused, so that the operators before them have float results.
    assert aten.hardtanh.default in results and aten.relu.default in results
    assert aten.add.Tensor not in results and aten.conv_transpose2d.input not in results
    assert {aten.conv2d.default, aten.mul.Tensor, aten.cat.default, aten.linear.default} <= results
    weights = operators(program)[qd.dequantize_per_channel.default]
    assert weights == 4
    assert all(value.dtype == torch.int8 for name, value in program.state_dict.items() if "frozen" in name), (
        list(program.state_dict)
    )


def test_per_channel_axes_are_those_of_output_channels() -> None:
    model, inputs = image()
    program = quantize(model, inputs, XNNPACKQuantizer().set_global(static_int8()), [inputs])
    axes = {}
    for node in program.graph.nodes:
        if node.target is qd.dequantize_per_channel.default:
            axes[next(iter(node.users)).target] = node.args[3]
    assert axes == {aten.conv2d.default: 0, aten.conv_transpose2d.input: 1, aten.linear.default: 0}


def test_annotations_reach_operators_that_move_values() -> None:
    module = torch.nn.Sequential(
        torch.nn.Tanh(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Tanh()
    )
    graph = torch.export.export(module, (torch.ones(1, 2, 4, 4),)).module()
    first = next(node for node in graph.graph.nodes if node.target is aten.tanh.default)
    spec = static_int8().output_activation
    first.meta["quantization_annotation"] = QuantizationAnnotation(output_qspec=spec, _annotated=True)
    propagate_annotation(graph)
    marked = [node.target for node in graph.graph.nodes if "quantization_annotation" in node.meta]
    assert marked == [aten.tanh.default, aten.adaptive_avg_pool2d.default, aten.flatten.using_ints]


def test_shared_parameters_are_equal() -> None:
    model, inputs = image()
    program = quantize(model, inputs, CpuQuantizer().set_global(static_int8()), [inputs])
    for node in program.graph.nodes:
        if node.target in (aten.max_pool2d.default, aten.cat.default, aten.mean.dim):
            before = node.args[0][0] if isinstance(node.args[0], (list, tuple)) else node.args[0]
            after = next(iter(node.users))
            assert before.args[1:] == after.args[1:], node


@pytest.mark.parametrize(
    ("config", "floor"),
    [
        (dynamic_int8(), 30),
        (dynamic_int8(per_token=True), 30),
        (dynamic_int8_weight_int4(), 14),
        (weight_only_int8(), 35),
        (weight_only_int8(group_size=32), 38),
        (weight_only_int4(), 14),
    ],
)
def test_text(config: Any, floor: float) -> None:
    model, inputs = text()
    program = quantize(model, inputs, CpuQuantizer().set_global(config))
    assert snr(model, program, inputs) > floor
    ops = operators(program)
    assert ops[qd.dequantize_per_channel.default] + ops[qd.dequantize_per_channel_group.default] == 3
    assert ops[qd.choose_qparams.tensor] == 2 * (config == dynamic_int8())
    tokens = config in (dynamic_int8(per_token=True), dynamic_int8_weight_int4())
    assert ops[qd.choose_qparams_per_token_asymmetric.default] == 2 * tokens


def test_int16_activations_lose_less_than_int8_ones() -> None:
    model, inputs = image()
    wide = quantize(model, inputs, CpuQuantizer().set_global(static_int16()), [inputs])
    narrow = quantize(model, inputs, CpuQuantizer().set_global(static_int8()), [inputs])
    assert any(
        node.args[-1] == torch.int16
        for node in wide.graph.nodes
        if node.target is qd.quantize_per_tensor.default
    )
    assert snr(model, wide, inputs) > snr(model, narrow, inputs)


@pytest.mark.long
def test_training_folds_batch_norm_and_learns_ranges() -> None:
    torch.manual_seed(0)
    model, inputs = Image(), (torch.randn(4, 3, 12, 12),)
    program = torch.export.export(model.train(), inputs)
    quantizer = XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True, is_qat=True)
    )
    prepared = prepare_qat_pt2e(program, quantizer)
    optimizer = torch.optim.SGD(prepared.parameters(), lr=1e-3)
    for _ in range(3):
        prepared(*inputs).square().sum().backward()
        optimizer.step()
    axes = {tuple(part.scale.shape) for part in prepared.modules() if getattr(part, "is_per_channel", False)}  # type: ignore[arg-type]
    assert axes == {(8,), (10,)}
    from torchao.quantization.pt2e import move_exported_model_to_eval

    move_exported_model_to_eval(prepared)
    converted = torch.export.export(convert_pt2e(prepared), inputs)
    ops = operators(converted)
    assert not any("batch_norm" in str(op) for op in ops)
    assert ops[qd.dequantize_per_channel.default] == 4
    assert aten.hardtanh.default in quantized_results(converted)


@pytest.mark.parametrize("how", ["name", "type", "operator", "filter"])
def test_parts_are_left_in_float(how: str) -> None:
    model, inputs = image()
    quantizer = CpuQuantizer().set_global(static_int8())
    if how == "name":
        quantizer.set_module_name("stem", None)
    elif how == "type":
        quantizer.set_module_type(torch.nn.Sequential, None)
    elif how == "operator":
        quantizer.set_operator_type(aten.conv2d, None)
    else:
        quantizer.set_filter_function(lambda node: node.target is not aten.conv2d.default)
    program = quantize(model, inputs, quantizer, [inputs])
    weights = [
        node.args[1].target
        for node in program.graph.nodes
        if node.target in (aten.conv2d.default, aten.linear.default)
    ]
    floats = sum(target != qd.dequantize_per_channel.default for target in weights)
    assert floats == (1 if how in ("name", "type") else 2)


def test_the_nearest_configuration_applies() -> None:
    model, inputs = image()
    quantizer = CpuQuantizer().set_global(static_int8())
    quantizer.set_module_type(torch.nn.Linear, weight_only_int8()).set_module_name("head", dynamic_int8())
    program = quantize(model, inputs, quantizer, [inputs])
    (linear,) = [node for node in program.graph.nodes if node.target is aten.linear.default]
    assert linear.args[0].target is qd.dequantize_per_tensor.tensor


@pytest.mark.parametrize("config", [dynamic_int8(), static_int8()], ids=["dynamic", "static"])
def test_dynamic_sizes_of_a_program_are_kept(config: Any) -> None:
    class Sum(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, parts: dict[str, torch.Tensor], factor: float) -> torch.Tensor:
            return self.linear(parts["a"]) + parts["b"][::2] * factor

    half = torch.export.Dim("half", min=2, max=16)
    inputs = ({"a": torch.randn(3, 4), "b": torch.randn(6, 4)}, 2.0)
    shapes = ({"a": {0: half}, "b": {0: 2 * half}}, None)
    program = torch.export.export(Sum(), inputs, dynamic_shapes=shapes)
    longer = ({"a": torch.randn(16, 4), "b": torch.randn(32, 4)}, 2.0)
    quantized = quantize(program, None, CpuQuantizer().set_global(config), [longer])
    assert snr(program.module(), quantized, longer) > 20
    with pytest.raises(AssertionError, match="17|16"):
        quantized.module()({"a": torch.randn(17, 4), "b": torch.randn(34, 4)}, 2.0)


@pytest.mark.parametrize("least", [0, 1])
def test_lower_bounds_of_0_and_1_are_kept(least: int) -> None:
    """torch.export traces dynamic dims as 2 or more, and lowers the bounds of named dims afterwards."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    shapes = ({0: torch.export.Dim("batch", min=least, max=8), 1: torch.export.Dim("rows", min=3, max=9)},)
    program = torch.export.export(model, (torch.randn(3, 5, 4),), dynamic_shapes=shapes)
    quantized = quantize(program, None, CpuQuantizer().set_global(dynamic_int8()))
    assert [(r.lower, r.upper) for r in quantized.range_constraints.values()] == [(least, 8), (3, 9)]
    x = torch.randn(least, 5, 4)
    result = rushlight.load(rushlight.compile(quantized))(x)
    torch.testing.assert_close(result, model(x), atol=0.05, rtol=0)


def test_dynamic_sizes_of_variadic_inputs() -> None:
    class Sum(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor, *more: torch.Tensor) -> torch.Tensor:
            return self.linear(x) + sum(self.linear(part) for part in more)

    rows = {0: torch.export.Dim("rows", min=1, max=9)}
    model, inputs = Sum(), (torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4))
    for shapes in ((rows, (rows, rows)), {"x": rows, "more": (rows, rows)}):
        made = quantize(model, inputs, CpuQuantizer().set_global(dynamic_int8()), dynamic_shapes=shapes)
        module = rushlight.load(rushlight.compile(made))
        for count in (1, 9):
            parts = [torch.randn(count, 4) for _ in range(3)]
            torch.testing.assert_close(module(*parts), model(*parts), atol=0.1, rtol=0)


def test_what_is_no_quantizer_or_configuration_is_refused() -> None:
    model, inputs = text()
    for quantizer, given in (
        (dynamic_int8(), "QuantizationConfig"),
        (CpuQuantizer, "the class CpuQuantizer"),
    ):
        with pytest.raises(QuantizationError, match=f"the quantizer must be an object .*, not {given}"):
            quantize(model, inputs, quantizer)  # type: ignore[arg-type]
    for config in ("int8", dynamic_int8):
        with pytest.raises(QuantizationError, match="the result of a function such as static_int8"):
            CpuQuantizer().set_global(config)  # type: ignore[arg-type]


def test_quantizers_compose() -> None:
    model, inputs = text()
    words = CpuQuantizer().set_module_name("words", weight_only_int4())
    rest = XNNPACKQuantizer().set_global(dynamic_int8())
    ops = operators(quantize(model, inputs, ComposableQuantizer([words, rest])))
    assert ops[qd.dequantize_per_channel_group.default] == 1
    assert ops[qd.choose_qparams.tensor] == 2


def test_large_constants_that_stand_for_infinity_stay_float() -> None:
    class Masked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.relu(self.linear(x) * -1e16)

    inputs = (torch.randn(2, 8),)
    program = quantize(Masked(), inputs, CpuQuantizer().set_global(static_int8()), [inputs])
    assert aten.mul.Tensor not in quantized_results(program)


@pytest.mark.parametrize(("quantizer", "expected"), [(XNNPACKQuantizer, 2), (CpuQuantizer, 0)])
def test_cat_of_floats(quantizer: Any, expected: int) -> None:
    """XNNPACKQuantizer quantizes it as in ExecuTorch. CpuQuantizer does not, because this would not help."""

    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.cat([x, x]), self.linear(y)

    inputs = (torch.randn(2, 4), torch.randn(2, 4))
    program = quantize(Twice(), inputs, quantizer().set_global(static_int8()), [inputs])
    cat = next(node for node in program.graph.nodes if node.target is aten.cat.default)
    users = [node.target for node in cat.users]
    assert (users == [qd.quantize_per_tensor.default]) == bool(expected)
    assert sum(arg.target is qd.dequantize_per_tensor.default for arg in cat.args[0]) == expected


def test_the_backend_says_what_it_quantizes() -> None:
    configs = XNNPACKQuantizer.get_supported_quantization_configs()
    assert get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True) in configs
    operators = {
        config: {tuple(pattern) for pattern in patterns}
        for config, patterns in XNNPACKQuantizer.get_supported_operators()
    }
    static, dynamic = (
        operators[get_symmetric_quantization_config(is_dynamic=is_dynamic)] for is_dynamic in (False, True)
    )
    assert (aten.linear.default,) in static & dynamic
    assert (aten.conv2d.default, aten.relu.default) in static
    assert (aten.add.Tensor,) in static - dynamic
    everything = XNNPACKQuantizer.get_supported_operator_for_quantization_config(None)
    assert {tuple(pattern) for pattern in everything} == static | dynamic


class TestBadInput:
    def test_a_model_without_quantizable_operators(self) -> None:
        class Sine(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.sin(x)

        inputs = (torch.randn(3),)
        with pytest.raises(QuantizationError, match=r"nothing to quantize.*aten\.sin"):
            quantize(Sine(), inputs, XNNPACKQuantizer().set_global(static_int8()), [inputs])

    def test_a_quantizer_without_configuration(self) -> None:
        model, inputs = text()
        with pytest.raises(QuantizationError, match="no configuration; call set_global"):
            quantize(model, inputs, XNNPACKQuantizer())

    def test_a_composition_that_finds_nothing(self) -> None:
        model, inputs = text()
        nothing = ComposableQuantizer([XNNPACKQuantizer().set_module_name("words", static_int8())])
        with pytest.raises(QuantizationError, match="nothing to quantize"):
            quantize(model, inputs, nothing, [inputs])

    @pytest.mark.parametrize("data", [None, []])
    def test_calibration_without_data(self, data: Any) -> None:
        model, inputs = image()
        with pytest.raises(QuantizationError, match="no data was given"):
            quantize(model, inputs, CpuQuantizer().set_global(static_int8()), data)

    def test_conversion_without_calibration_names_the_place(self) -> None:
        model, inputs = image()
        prepared = prepare_pt2e(torch.export.export(model, inputs), CpuQuantizer().set_global(static_int8()))
        with pytest.raises(QuantizationError, match="no data was seen at input x"):
            convert_pt2e(prepared)

    def test_torchaos_own_flow_warns(self) -> None:
        from torchao.quantization.pt2e import quantize_pt2e

        model, inputs = image()
        module = torch.export.export(model, inputs).module()
        with pytest.warns(UserWarning, match="no configuration; call set_global"):
            quantize_pt2e.prepare_pt2e(torch.export.export(model, inputs).module(), XNNPACKQuantizer())
        prepared = quantize_pt2e.prepare_pt2e(module, XNNPACKQuantizer().set_global(static_int8()))
        with pytest.warns(UserWarning, match="observer"):
            quantize_pt2e.convert_pt2e(prepared)

    @pytest.mark.parametrize(("value", "word"), [(float("nan"), "NaN"), (float("inf"), "infinity")])
    def test_values_that_are_not_finite(self, value: float, word: str) -> None:
        model, inputs = image()
        bad = inputs[0].clone()
        bad[0, 0, 0, 0] = value
        with pytest.raises(QuantizationError, match=rf"1 of 864 values at input x .*\({word}\)"):
            quantize(model, inputs, CpuQuantizer().set_global(static_int8()), [inputs, (bad,)])

    def test_an_operator_that_the_backend_cannot_run_quantized(self) -> None:
        with pytest.raises(
            QuantizationError, match=r"cannot quantize aten.*softmax.*supports aten\.adaptive"
        ):
            XNNPACKQuantizer().set_operator_type(aten.softmax, static_int8())

    def test_a_module_that_is_not_there(self) -> None:
        model, inputs = text()
        quantizer = CpuQuantizer().set_global(dynamic_int8()).set_module_name("wrods", None)
        with pytest.warns(UserWarning, match="no module named 'wrods'"):
            quantize(model, inputs, quantizer)


def warned(quantizer: Any, model: torch.nn.Module | None = None, sizes: Any = (1, 3, 8, 8)) -> list[str]:
    """Returns the warnings of a quantizer for a model, or for an image network."""
    inputs = (torch.randn(sizes),)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quantize(model or Image(), inputs, quantizer, [inputs])
    return [str(one.message) for one in caught if one.category is QuantizationWarning]


CONVOLUTIONS = "stem.0.conv2d, depthwise.conv2d_1, up.conv_transpose2d"


@pytest.mark.parametrize(
    ("config", "mode"),
    [(weight_only_int8(), "weight-only"), (weight_only_int4(), "weight-only"), (dynamic_int8(), "dynamic")],
)
def test_layers_left_in_float_are_named(config: Any, mode: str) -> None:
    (message,) = warned(CpuQuantizer().set_global(config))
    assert message.startswith(
        f"CpuQuantizer leaves 3 layers in float, because {mode} configurations do not apply to them: "
        f"{CONVOLUTIONS}. static_int8() "
    )


def test_layers_that_are_meant_to_stay_in_float_are_not_named() -> None:
    quantizer = CpuQuantizer().set_global(weight_only_int8())
    quantizer.set_operator_type(aten.conv2d, None).set_module_name("up", None)
    assert warned(quantizer) == []
    assert warned(CpuQuantizer().set_global(static_int8())) == []


def test_a_backend_that_has_the_form_leaves_fewer() -> None:
    (message,) = warned(XNNPACKQuantizer().set_global(dynamic_int8()))
    # XNNPACKQuantizer does not quantize a convolution with a ReLU dynamically.
    assert "leaves 2 layers in float" in message and "depthwise.conv2d_1, up.conv_transpose2d. " in message


class Recurrent(torch.nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.cells = kind(8, 16)
        self.head = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> Any:
        states, _ = self.cells(x)
        return self.head(states)


@pytest.mark.parametrize(
    ("kind", "operator"),
    [(torch.nn.LSTM, "lstm.input"), (torch.nn.GRU, "gru.input"), (torch.nn.RNN, "rnn_tanh.input")],
)
def test_recurrent_layers_left_in_float_are_named(kind: Any, operator: str) -> None:
    model = Recurrent(kind)
    for quantizer, reason in (
        (CpuQuantizer().set_global(static_int8()), "weight_only_int8() and dynamic_int8() quantize their"),
        (XNNPACKQuantizer().set_global(dynamic_int8()), "XNNPACKQuantizer does not quantize LSTM, GRU and"),
    ):
        (message,) = warned(quantizer, model, (5, 2, 8))
        assert f"{quantizer.name} leaves 1 recurrent layer in float: cells" in message and reason in message
        assert f"set_operator_type(torch.ops.aten.{operator}, None)" in message
        quantizer.set_operator_type(getattr(aten, operator.split(".")[0]).input, None)
        assert warned(quantizer, model, (5, 2, 8)) == []


@pytest.mark.parametrize("config", [weight_only_int8(), weight_only_int4(), dynamic_int8()])
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_matrices_of_recurrent_layers_are_quantized(kind: Any, config: Any) -> None:
    model = Recurrent(kind).eval()
    assert warned(CpuQuantizer().set_global(config), model, (5, 2, 8)) == []
    inputs = (torch.randn(5, 2, 8),)
    program = quantize(model, inputs, CpuQuantizer().set_global(config))
    stored: list[Any] = [*program.constants.values(), *program.state_dict.values()]
    sizes = sorted(tuple(value.shape) for value in stored if value.dtype == torch.int8)
    gates = {torch.nn.LSTM: 4, torch.nn.GRU: 3, torch.nn.RNN: 1}[kind]
    assert sizes == sorted([(4, 16), (16 * gates, 8), (16 * gates, 16)])
    with torch.no_grad():
        got, want = program.module()(*inputs), model(*inputs)
    assert (got - want).abs().max() < 0.1 * want.abs().max()


def test_convolutions_that_16_bits_make_slower_are_named() -> None:
    (message,) = warned(CpuQuantizer().set_global(static_int16()))
    assert message.startswith("static_int16() makes 3 convolutions slower than float32 and no smaller: ")
    assert CONVOLUTIONS in message and message.endswith("static_int8() is faster and smaller")


def test_selections_that_are_no_operators_modules_or_functions() -> None:
    quantizer = CpuQuantizer()
    for value in ("linear", F.linear, torch.nn.Linear):
        with pytest.raises(QuantizationError, match="is not an operator such as torch.ops.aten.linear"):
            quantizer.set_operator_type(value, None)
    with pytest.raises(QuantizationError, match="is a value, not a class of modules"):
        quantizer.set_module_type(torch.nn.Linear(2, 2), None)  # type: ignore[arg-type]
    with pytest.raises(QuantizationError, match="'x' is not a function"):
        quantizer.set_filter_function("x")  # type: ignore[arg-type]
    for size in (0, -1, 2.5, "32"):
        with pytest.raises(ValueError, match="group_size must be a positive integer"):
            weight_only_int4(group_size=size)  # type: ignore[arg-type]


def test_module_types_that_the_model_does_not_have() -> None:
    x = torch.randn(2, 8)
    model = torch.nn.Sequential(torch.nn.Linear(8, 4))
    kinds: dict[str | type, bool] = {"Linear": False, torch.nn.Conv2d: False, torch.nn.Sequential: True}
    for kind, matches in kinds.items():
        quantizer = CpuQuantizer().set_global(static_int8()).set_module_type(kind, static_int8())
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            quantize(model, (x,), quantizer, [(x,)])
        found = [str(w.message) for w in given if "its configuration is ignored" in str(w.message)]
        assert bool(found) is not matches


def test_reasons_why_nothing_is_quantized() -> None:
    x = torch.randn(2, 8)
    half = torch.nn.Linear(8, 8).half()
    with pytest.raises(QuantizationError, match="the layers are float16, and CpuQuantizer quantizes float32"):
        quantize(half, (x.half(),), CpuQuantizer().set_global(static_int8()), [(x.half(),)])
    once = quantize(torch.nn.Linear(8, 8), (x,), CpuQuantizer().set_global(static_int8()), [(x,)])
    with pytest.raises(QuantizationError, match="the model is quantized already"):
        quantize(once, None, CpuQuantizer().set_global(static_int8()), [(x,)])
