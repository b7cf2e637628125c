"""The steps of quantization keep the results of the float model."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest
import torch
from torch import nn

import rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.quantize import QuantizationError, calibrate, convert_pt2e, prepare_pt2e, quantize, static_int8


class Normalized(nn.Module):
    """A convolution and two batch norms, whose statistics differ from the defaults.

    Args:
        conv: the convolution, with eight output channels.
        join: computes the result from the input, the convolution and the batch norms.
    """

    def __init__(self, conv: nn.Module, join: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.conv, self.first, self.second = conv, nn.BatchNorm2d(8), nn.BatchNorm2d(8)
        self.join = join
        for norm in (self.first, self.second):
            assert norm.running_mean is not None and norm.running_var is not None
            nn.init.normal_(norm.running_mean)
            nn.init.uniform_(norm.running_var, 0.2, 2.0)
            nn.init.uniform_(norm.weight, 0.5, 2.0)
            nn.init.normal_(norm.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.join(x, self.conv, self.first, self.second)


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[..., torch.Tensor]]] = {
    "alone": (lambda: nn.Conv2d(8, 8, 3, padding=1), lambda x, conv, a, b: b(torch.relu(a(conv(x))))),
    "weight read twice": (
        lambda: nn.Conv2d(8, 8, 3),
        lambda x, conv, a, b: torch.cat([a(conv(x)), conv(x)], 1),
    ),
    "two norms of one weight": (
        lambda: nn.Conv2d(8, 8, 3),
        lambda x, conv, a, b: torch.cat([a(conv(x)), b(conv(x * 2))], 1),
    ),
    "result read twice": (
        lambda: nn.Conv2d(8, 8, 3),
        lambda x, conv, a, b: (lambda y: torch.cat([a(y), y], 1))(conv(x)),
    ),
    "transposed with groups": (
        lambda: nn.ConvTranspose2d(8, 8, 2, 2, groups=2),
        lambda x, conv, a, b: a(conv(x)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_batch_norms_after_convolutions(name: str) -> None:
    torch.manual_seed(0)
    make, join = CASES[name]
    model, x = Normalized(make(), join).eval(), torch.randn(2, 8, 6, 7)
    program = quantize(model, (x,), CpuQuantizer().set_global(static_int8()), [(x,)])
    expected, got = model(x), program.module()(x)
    assert (got - expected).square().mean() < 1e-3 * expected.square().mean()
    compiled = rushlight.load(rushlight.compile(program).buffer)(x)
    assert (torch.as_tensor(compiled) - got).abs().max() < 0.03 * expected.abs().max()


def test_conversion_without_training_builds_no_patterns_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    make, join = CASES["alone"]
    program = torch.export.export(Normalized(make(), join).eval(), (torch.randn(2, 8, 6, 7),), strict=True)
    prepared = prepare_pt2e(program, CpuQuantizer().set_global(static_int8()))
    with pytest.raises(QuantizationError):  # no calibration
        convert_pt2e(prepared)
    assert any(node.target == torch.ops.aten.batch_norm.default for node in prepared.graph.nodes)
    calibrate(prepared, [torch.randn(2, 8, 6, 7)])

    def export(*args: object, **kwargs: object) -> NoReturn:
        raise AssertionError("torchao exports a pattern")

    monkeypatch.setattr(torch.export, "export", export)
    converted = convert_pt2e(prepared)
    assert any(node.target == torch.ops.aten.batch_norm.default for node in converted.graph.nodes)


class Keyword(nn.Module):
    """A layer with an input that can only be given by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor, *, shift: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + shift


@pytest.mark.parametrize("item", ["tuple", "dict"])
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_keyword_inputs(item: str, is_dynamic: bool) -> None:
    torch.manual_seed(0)
    model, x, shift = Keyword(), torch.randn(6, 8), torch.randn(4)
    data = [(x, shift)] if item == "tuple" else [{"shift": shift, "x": x}]
    shapes = {"x": {0: torch.export.Dim("n")}, "shift": None} if is_dynamic else None
    quantizer = CpuQuantizer().set_global(static_int8())
    program = quantize(model, (x,), quantizer, data, example_kwargs={"shift": shift}, dynamic_shapes=shapes)
    run = rushlight.load(rushlight.compile(program).buffer)
    for count in (6, 2) if is_dynamic else (6,):
        want = model(x[:count], shift=shift)
        assert (run(x[:count], shift=shift) - want).abs().max() < 0.05 * want.abs().max()


def test_names_of_data_that_the_model_does_not_have() -> None:
    x, shift = torch.randn(6, 8), torch.randn(4)
    quantizer = CpuQuantizer().set_global(static_int8())
    with pytest.raises(
        QuantizationError, match="item 0 of the data has the inputs x, b, but the model takes x, "
    ):
        quantize(Keyword(), (x,), quantizer, [{"x": x, "b": shift}], example_kwargs={"shift": shift})


def test_a_prepared_model_is_not_compiled() -> None:
    x = torch.randn(6, 8)
    prepared = prepare_pt2e(
        torch.export.export(nn.Sequential(nn.Linear(8, 4)), (x,)), CpuQuantizer().set_global(static_int8())
    )
    with pytest.raises(rushlight.ir.errors.ExportError, match="not converted: call convert_pt2e first"):
        rushlight.compile(prepared, (x,))
