"""The report on a quantized program: its measurements, and the layers with the largest errors."""

from __future__ import annotations

import inspect
import json
import math
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.quantize import (
    QuantizationError,
    compare,
    convert_pt2e,
    dynamic_int8,
    export_float,
    prepare_qat_pt2e,
    quantize,
    static_int8,
    weight_only_int4,
)
from rushlight.quantize.measures import Agreement, Meter, difference


class Net(torch.nn.Module):
    """A network with an in-place activation, batch norm, a residual and a view."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.again = torch.nn.Conv2d(8, 8, 3, padding=1)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm(self.conv(x)), inplace=True)
        y = y + self.again(y)
        y = F.hardtanh(y, -4, 4, inplace=True)
        return self.head(y.mean((2, 3)))


def net() -> tuple[torch.nn.Module, list[tuple[torch.Tensor, ...]]]:
    torch.manual_seed(0)
    return Net().eval(), [(torch.randn(2, 3, 8, 8),) for _ in range(4)]


def test_every_layer_is_there_with_its_line() -> None:
    model, data = net()
    program = export_float(model, data[0])
    quantized = quantize(program, None, CpuQuantizer().set_global(static_int8()), data)
    report = compare(program, quantized, data)
    assert [row.operator for row in report.layers] == [
        "conv2d",
        "relu_",
        "conv2d",
        "add",
        "hardtanh_",
        "mean",
        "linear",
    ]
    lines, start = inspect.getsourcelines(Net.forward)
    assert [row.source for row in report.layers] == [
        f"{__file__}:{start + at}" for at in (1, 1, 2, 2, 3, 4, 4)
    ]
    assert report.layers[2].code == lines[2].strip()
    assert all(row.accumulated.snr_db > 25 and row.own.snr_db > 25 for row in report.layers)
    assert all(row.how.startswith("int8") for row in report.layers)
    assert report.first_below_floor is None and report.summary() == "No layer is below 10 dB."


def test_assertions_of_the_program_are_no_layers() -> None:
    class Cast(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return self.linear(x) * mask.to(x.dtype)

    data = [(torch.randn(2, 4), torch.ones(2, 4, dtype=torch.bool))]
    program = export_float(Cast(), data[0])
    assert any("assert" in str(node.target) for node in program.graph.nodes)
    report = compare(program, quantize(program, None, CpuQuantizer().set_global(dynamic_int8())), data)
    operators = {row.operator for row in report.layers}
    assert {"linear", "mul"} <= operators and not any("assert" in name for name in operators)


def test_parts_of_a_tensor_are_not_confused_with_quantization_parameters() -> None:
    """Both come from `getitem` nodes, which quantization renames."""

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = torch.nn.Linear(8, 24), torch.nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            q, k, v = self.first(x).chunk(3, -1)
            largest, _ = self.last(q * 2 - k + v).max(-1)
            return self.last(q), largest

    data = [(torch.randn(2, 8),)]
    program = export_float(Attention(), data[0])
    report = compare(program, quantize(program, None, CpuQuantizer().set_global(dynamic_int8())), data)
    names = [row.operator for row in report.layers]
    assert names.count("linear") == 3 and names.count("max") == 1
    assert not {"chunk", "<built-in function getitem>"} & set(names)
    assert all(row.own.snr_db > 25 for row in report.layers)


def test_a_values_error_is_that_of_the_two_programs() -> None:
    """The test computes the error only from outputs, without the code of the report."""
    model, data = net()
    program = export_float(model, data[0])
    quantized = quantize(program, None, CpuQuantizer().set_global(static_int8()), data)
    report = compare(program, quantized, data)
    expected = torch.cat([model(*x) for x in data]).double()
    error = torch.cat([quantized.module()(*x) for x in data]).double() - expected
    snr = float(10 * torch.log10(expected.square().sum() / error.square().sum()))
    (end,) = report.results
    assert end.difference.snr_db == pytest.approx(snr, abs=1e-3)
    assert end.difference.max_error == pytest.approx(float(error.abs().max()))
    assert report.layers[-1].accumulated == end.difference


@pytest.mark.parametrize(
    ("config", "word"),
    [
        (dynamic_int8(), "dynamic int8, weights int8"),
        (dynamic_int8(per_token=True), "dynamic int8 per token, weights int8"),
        (weight_only_int4(group_size=8), "weights int4/8"),
    ],
)
def test_kinds_have_names(config: Any, word: str) -> None:
    model, data = net()
    program = export_float(model, data[0])
    report = compare(program, quantize(program, None, CpuQuantizer().set_global(config)), data)
    assert {row.how for row in report.layers} == {"float", word}
    assert report.layers[-1].how == word
    # The batch norm is folded, which causes rounding errors.
    assert all(row.own.snr_db > 100 for row in report.layers[:-1])


def test_a_broken_layer_is_named_and_has_the_largest_own_error() -> None:
    model, data = net()
    program = export_float(model, data[0])
    quantized = quantize(program, None, CpuQuantizer().set_global(static_int8()), data)
    nodes = [node for node in quantized.graph.nodes if node.op == "call_function"]
    add = next(node for node in nodes if node.target is torch.ops.aten.hardtanh_.default)
    quantizing = next(iter(add.users))
    for node in (quantizing, *quantizing.users):
        node.args = (node.args[0], node.args[1] / 64, *node.args[2:])
    quantized.graph_module.recompile()
    report = compare(program, quantized, data)
    assert report.first_below_floor is not None and report.largest_own_error is report.first_below_floor
    assert report.first_below_floor.name == "hardtanh_"
    assert report.first_below_floor.own.snr_db < 10
    assert all(row.accumulated.snr_db > 25 for row in report.layers[:4])
    assert report.summary().splitlines()[0].startswith("First layer below 10 dB: hardtanh_ (hardtanh_) at ")
    assert f"{__file__}:" in report.summary() and "F.hardtanh(y, -4, 4, inplace=True)" in report.summary()
    # Later layers propagate the error, but do not cause errors.
    assert report.layers[-1].accumulated.snr_db < 20 < report.layers[-1].own.snr_db


@pytest.mark.long
def test_trained_programs_pair_as_well() -> None:
    torch.manual_seed(0)
    model, inputs = Net(), (torch.randn(4, 3, 8, 8),)
    program = torch.export.export(model.train(), inputs)
    prepared = prepare_qat_pt2e(program, CpuQuantizer().set_global(static_int8(qat=True)))
    for _ in range(3):
        prepared(*inputs)
    from torchao.quantization.pt2e import move_exported_model_to_eval

    move_exported_model_to_eval(prepared)
    state = {key: value for key, value in prepared.state_dict().items() if key in model.state_dict()}
    model.load_state_dict(state, strict=False)
    report = compare(export_float(model.eval(), inputs), convert_pt2e(prepared), [inputs])
    assert [row.operator for row in report.layers].count("conv2d") == 2
    assert report.results[0].difference.snr_db > 20


def test_the_runtime_is_compared_too() -> None:
    model, data = net()
    program = export_float(model, data[0])
    quantized = quantize(program, None, CpuQuantizer().set_global(static_int8()), data)
    loaded = rushlight.load(rushlight.compile(quantized).buffer)
    report = compare(program, quantized, data, also={"compiled": loaded})
    assert [row.name for row in report.results] == ["quantized", "compiled"]
    eager, compiled = (row.difference for row in report.results)
    assert compiled.snr_db == pytest.approx(eager.snr_db, abs=1.0)


def test_text_json_and_page_tell_the_same() -> None:
    model, data = net()
    program = export_float(model, data[0])
    quantized = quantize(program, None, CpuQuantizer().set_global(static_int8()), data)
    report = compare(program, quantized, data, floor_db=60)
    facts = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert report.first_below_floor is not None
    assert facts["first_below_floor"] == report.first_below_floor.name == "conv.conv2d"
    assert len(facts["layers"]) == len(report.layers) and facts["items"] == 4
    text, page = report.text(), report.html()
    for row in report.layers:
        assert row.name in text and row.name in page
    assert "First layer below 60 dB" in text and "First layer below 60 dB" in page
    assert page.count("<rect") == 2 + 2 * len(report.layers)


class TestBadInput:
    def test_no_data(self) -> None:
        model, data = net()
        program = export_float(model, data[0])
        quantized = quantize(program, None, CpuQuantizer().set_global(dynamic_int8()))
        with pytest.raises(QuantizationError, match="comparison: no data was given"):
            compare(program, quantized, [])

    def test_programs_that_do_not_belong_together(self) -> None:
        model, data = net()
        program = export_float(model, data[0])
        other = export_float(torch.nn.Softmax(-1), (torch.randn(2, 3),))
        with pytest.raises(QuantizationError, match="share no operator"):
            compare(program, other, data)


class TestMeasures:
    def test_meter_adds_up(self) -> None:
        a, b = torch.tensor([3.0, 4.0]), torch.tensor([3.0, 4.5])
        meter = Meter()
        meter.add(a, b)
        meter.add(a, a)
        found = meter.result()
        assert found.snr_db == pytest.approx(10 * math.log10(50 / 0.25))
        assert found.max_error == 0.5 and found.peak == 4
        assert found.cosine == pytest.approx((9 + 18 + 25) / math.sqrt(50 * (9 + 20.25 + 25)))

    def test_what_is_equal_and_what_broke(self) -> None:
        x = torch.tensor([1.0, 2.0])
        assert difference(x, x).snr_db == math.inf
        broken = difference(x, torch.tensor([1.0, math.nan]))
        assert broken.snr_db == -math.inf and broken.to_dict()["snr_db"] is None
        # Both programs have infinities in masks.
        masked = torch.tensor([1.0, -math.inf])
        assert difference(masked, masked).snr_db == math.inf

    def test_agreement(self) -> None:
        agreement = Agreement()
        agreement.add(torch.tensor([[1.0, 2.0], [2.0, 1.0]]), torch.tensor([[0.0, 9.0], [0.0, 1.0]]))
        agreement.add(torch.tensor([1.0]), torch.tensor([2.0]))
        assert agreement.share() == 0.5
        assert Agreement().share() is None
