"""Weights with groups: scales, and rounding with the inputs of the layer."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.quantize import QuantizationError, dynamic_int8_weight_int4, quantize, weight_only_int4
from rushlight.quantize.gptq import round_by_inputs
from rushlight.quantize.scales import group_for, quantize_groups

qd = torch.ops.quantized_decomposed


def correlated(count: int, width: int, seed: int) -> torch.Tensor:
    """Returns vectors that are near a subspace with an eighth of the dimensions, as hidden states are."""
    mixing = torch.randn(width // 8, width, generator=torch.Generator().manual_seed(7))
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(count, width // 8, generator=generator)
    return hidden @ mixing + 0.1 * torch.randn(count, width, generator=generator)


def real(q: torch.Tensor, scales: torch.Tensor, group: int) -> torch.Tensor:
    return (q.reshape(q.shape[0], -1, group) * scales[..., None]).reshape(q.shape)


def test_a_divisor_of_the_row_is_taken() -> None:
    assert [group_for(32, columns) for columns in (64, 48, 40, 20)] == [32, 16, 8, 20]


def test_scales_lose_less_than_those_of_the_full_range() -> None:
    weight = torch.randn(16, 128, generator=torch.Generator().manual_seed(0))
    q, scales = quantize_groups(weight, 32, -8, 7)
    assert q.min() >= -8 and q.max() <= 7 and scales.shape == (16, 4)
    peak = weight.reshape(16, 4, 32).abs().amax(-1) / 7
    full = torch.round(weight.reshape(16, 4, 32) / peak[..., None]) * peak[..., None]
    assert (real(q, scales, 32) - weight).square().sum() < (full.reshape(16, 128) - weight).square().sum()


def test_rounding_by_inputs_keeps_results_on_other_inputs() -> None:
    weight = torch.randn(24, 128, generator=torch.Generator().manual_seed(0))
    seen, held = correlated(256, 128, 1), correlated(256, 128, 2)
    nearest = real(*quantize_groups(weight, 32, -8, 7), 32)
    minded = real(*round_by_inputs(weight, seen.T @ seen, 32, -8, 7), 32)

    def loss(rounded: torch.Tensor) -> float:
        return float((held @ (rounded - weight).T).square().mean())

    assert loss(minded) < 0.5 * loss(nearest)


def test_inputs_that_say_nothing_leave_the_nearest_values() -> None:
    weight = torch.randn(8, 64, generator=torch.Generator().manual_seed(0))
    q, scales = round_by_inputs(weight, torch.eye(64), 32, -8, 7)
    expected = quantize_groups(weight, 32, -8, 7)
    assert torch.equal(q, expected[0]) and torch.equal(scales, expected[1])


@pytest.mark.parametrize("products", [torch.zeros(64, 64), torch.ones(64, 64)])
def test_inputs_of_low_rank_are_borne(products: torch.Tensor) -> None:
    weight = torch.randn(8, 64, generator=torch.Generator().manual_seed(0))
    q, scales = round_by_inputs(weight, products, 32, -8, 7)
    assert bool(torch.isfinite(real(q, scales, 32)).all())


class Normed(torch.nn.Module):
    """A norm with small scales for some columns and a shift, and a layer after it."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.norm, self.layer = kind(128), torch.nn.Linear(128, 48)
        torch.manual_seed(0)
        for parameter in self.norm.parameters():
            torch.nn.init.normal_(parameter)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.norm(x).unsqueeze(1))


@pytest.mark.parametrize("kind", [torch.nn.LayerNorm, torch.nn.RMSNorm])
@pytest.mark.parametrize("config", [weight_only_int4, dynamic_int8_weight_int4])
def test_norms_tell_of_their_results_without_data(kind: Any, config: Any) -> None:
    model = Normed(kind).eval()
    x = torch.randn(512, 128, generator=torch.Generator().manual_seed(1))
    program = quantize(model, (x,), CpuQuantizer().set_global(config()))
    expected, weight = model(x), model.layer.weight.detach()
    loss = (program.module()(x) - expected).square().mean()
    model.layer.weight.data = real(*quantize_groups(weight, 32, -8, 7), 32)
    assert loss < 0.95 * (model(x) - expected).square().mean()


class Shared(torch.nn.Module):
    """An embedding, which has no float input, three layers with the same input, and a layer after them."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(16, 128)
        self.a, self.b, self.c = (torch.nn.Linear(128, 64) for _ in range(3))
        self.last = torch.nn.Linear(64, 32)

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        x = x + self.table(ids)
        return self.last(torch.relu(self.a(x)) + self.b(x) * torch.sigmoid(self.c(x)))


def test_every_layer_is_rounded_by_its_inputs() -> None:
    torch.manual_seed(0)
    model = Shared().eval()
    ids = torch.arange(256) % 16
    seen, held = (correlated(256, 128, 1), ids), (correlated(256, 128, 2), ids)
    expected = model(*held)
    errors = []
    for by_inputs in (False, True):
        quantizer = CpuQuantizer().set_global(weight_only_int4(by_inputs=by_inputs))
        program = quantize(model, seen, quantizer, [seen])
        targets = [node.target for node in program.graph.nodes]
        assert targets.count(qd.dequantize_per_channel_group.default) == 5
        assert qd.quantize_per_tensor.default not in targets
        errors.append(float((program.module()(*held) - expected).square().mean()))
        run = rushlight.load(rushlight.compile(program).buffer)
        torch.testing.assert_close(torch.as_tensor(run(*held)), program.module()(*held), rtol=1e-4, atol=1e-4)
    assert errors[1] < 0.8 * errors[0]


def test_data_is_needed_and_must_be_finite() -> None:
    model, (x, ids) = Shared().eval(), (correlated(4, 128, 1), torch.arange(4))
    quantizer = CpuQuantizer().set_global(weight_only_int4(by_inputs=True))
    with pytest.raises(QuantizationError, match="no data was given"):
        quantize(model, (x, ids), quantizer)
    x = x.clone()
    x[1, 5] = float("nan")
    with pytest.raises(QuantizationError, match="NaN"):
        quantize(model, (x, ids), quantizer, [(x, ids)])


@pytest.mark.parametrize(
    "config", [weight_only_int4(), weight_only_int4(by_inputs=True), dynamic_int8_weight_int4()]
)
def test_weights_of_one_column_have_no_groups(config: Any) -> None:
    model, inputs = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Linear(16, 4)), (torch.randn(3, 1),)
    program = quantize(model, inputs, CpuQuantizer().set_global(config), [inputs])
    targets = [node.target for node in program.graph.nodes]
    assert qd.dequantize_per_channel.default in targets
    assert qd.dequantize_per_channel_group.default in targets
    run = rushlight.load(rushlight.compile(program).buffer)
    torch.testing.assert_close(run(*inputs), program.module()(*inputs), rtol=1e-2, atol=1e-2)
