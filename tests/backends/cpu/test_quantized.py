"""Quantized programs in plans use int8, and differ from eager mode by at most one quantization step."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.quantized_support import dequantize_scale, input_of, kinds, lower, quantum, run
from tests.backends.cpu.support import damaged, plan_of, refusals
from torch import nn
from torchao.quantization import PerGroup, quantize_
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig

import rushlight
from rushlight.backends.cpu.lower.quantized_lowering import QuantizedLowering
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import (
    DepthwiseConv2d,
    DynamicQuantize,
    Elementwise,
    Gemm,
    Int4Gemm,
    Int8Binary,
    Int8DepthwiseConv2d,
    Int8Gemm,
    Pool2d,
    QuantizedGather,
    Reduce,
    WeightOnlyGemm,
)
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.compiler.config import EdgeCompileConfig
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import (
    dynamic_int8,
    dynamic_int8_weight_int4,
    static_int8,
    weight_only_int4,
    weight_only_int8,
)
from rushlight.runtime import Runtime, RushlightError

F = nn.functional


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 18, 3, padding=1)
        self.depthwise = nn.Conv2d(18, 18, 3, groups=18)
        self.linear = nn.Linear(18, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        z = torch.relu(y + y[:, :, :1, :1]) * y
        y = torch.cat([z, F.max_pool2d(y, 3, 1, 1)], 1)[:, 3:21]
        y = F.hardswish(self.depthwise(y))
        return self.linear(F.adaptive_avg_pool2d(F.avg_pool2d(y, 2, 1, 1), 1).flatten(1))


class Gated(nn.Module):
    """A gated activation, as in WaveNet: its functions read the halves of an int8 tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(12, 70, 3, padding=1)
        self.linear = nn.Conv1d(35, 9, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = self.conv(x).chunk(2, 1)
        return self.linear(left.tanh() * right.sigmoid())


torch.manual_seed(5)


CASES: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "pointwise": (nn.Conv2d(20, 37, 1), (2, 20, 7, 9)),
    "pointwise_grouped": (nn.Conv2d(12, 9, 1, groups=3), (2, 12, 5, 6)),
    "stem": (nn.Conv2d(3, 17, 7, stride=2, padding=3), (2, 3, 31, 29)),
    "dilated": (nn.Conv2d(5, 8, 3, dilation=2, padding=3), (1, 5, 12, 11)),
    "grouped": (nn.Conv2d(12, 18, (3, 2), groups=3, padding=(2, 1)), (2, 12, 8, 9)),
    "one_channel": (nn.Conv2d(1, 12, 3, padding=1), (1, 1, 9, 9)),
    "multiplied": (nn.Conv2d(6, 12, 3, groups=6, padding=1), (1, 6, 9, 9)),
    "depthwise_3": (nn.Conv2d(21, 21, 3, groups=21, padding=1), (2, 21, 10, 37)),
    "depthwise_narrow": (nn.Conv2d(35, 35, 3, groups=35, padding=1, stride=2), (2, 35, 17, 13)),
    "depthwise_dilated": (nn.Conv2d(5, 5, 3, groups=5, padding=2, dilation=2), (1, 5, 9, 7)),
    "depthwise_apart": (nn.Conv2d(5, 5, (1, 3), groups=5, stride=(3, 1)), (1, 5, 9, 7)),
    "depthwise_5": (nn.Conv2d(16, 16, 5, groups=16, padding=2, stride=2, bias=False), (1, 16, 9, 19)),
    "depthwise_7": (nn.Conv2d(70, 70, 7, groups=70, padding=3), (2, 70, 9, 21)),
    "depthwise_rows": (nn.Conv2d(66, 66, (6, 2), groups=66, stride=2), (1, 66, 12, 38)),
    "depthwise_line": (nn.Conv1d(80, 80, 5, groups=80, padding=2), (2, 80, 35)),
    "depthwise_31": (nn.Conv1d(20, 20, 31, groups=20, padding=15, stride=2), (2, 20, 77)),
    "depthwise_9": (nn.Conv2d(17, 17, (9, 11), groups=17, padding=4), (1, 17, 11, 40)),
    "depthwise_40": (nn.Conv2d(5, 5, 40, groups=5, padding=20, stride=2), (1, 5, 21, 23)),
    "line": (nn.Conv1d(6, 9, 5, padding=2), (2, 6, 20)),
    "winograd": (nn.Conv2d(32, 40, 3, padding=1), (2, 32, 13, 11)),
    "winograd_padded_twice": (nn.Conv2d(32, 24, 3, padding=2, bias=False), (1, 32, 8, 17)),
    "transposed": (nn.ConvTranspose2d(6, 9, 4, 2, 1), (2, 6, 7, 5)),
    "transposed_without_overlap": (nn.ConvTranspose2d(16, 8, 2, 2, bias=False), (1, 16, 5, 6)),
    "transposed_odd": (
        nn.Sequential(nn.ConvTranspose2d(5, 7, (3, 2), (2, 3), (1, 0), (1, 2)), nn.ReLU()),
        (1, 5, 4, 6),
    ),
    "transposed_stride_1": (nn.ConvTranspose2d(8, 4, 3, padding=2), (2, 8, 9, 7)),
    "transposed_line": (nn.ConvTranspose1d(6, 5, 8, 4, 2), (2, 6, 11)),
    "conv_relu6": (nn.Sequential(nn.Conv2d(8, 24, 3, padding=1), nn.ReLU6()), (1, 8, 6, 7)),
    "linear": (nn.Linear(70, 45), (3, 5, 70)),
    "linear_row": (nn.Linear(500, 100, bias=False), (1, 500)),
    "functions": (nn.Sequential(nn.Linear(20, 33), nn.GELU(), nn.SiLU(), nn.Linear(33, 9)), (7, 20)),
    "net": (Net(), (2, 4, 9, 8)),
    "gated": (Gated(), (2, 12, 190)),
}


QUANTIZERS: dict[str, Any] = {
    "channel": lambda: CpuQuantizer().set_global(static_int8()),
    "tensor": lambda: XNNPACKQuantizer().set_global(get_symmetric_quantization_config()),
}


@pytest.mark.parametrize("scales", QUANTIZERS)
@pytest.mark.parametrize("case", CASES)
def test_static(case: str, scales: str) -> None:
    module, shape = CASES[case]
    x = input_of(shape)
    exported = quantize(module.eval(), (x,), QUANTIZERS[scales](), [(x,)])
    program = lower(exported)
    assert kinds(program) & {Int8Gemm, Int8DepthwiseConv2d}
    if scales == "channel" or case not in ("functions", "net", "gated"):
        floats = {Gemm, DepthwiseConv2d, Elementwise, Pool2d, Reduce}
        assert not kinds(program) & floats
    with torch.no_grad():
        want = exported.module()(x)
    # Ties may round differently, because sums have another order.
    steps = (run(program, x) - want).abs() / quantum(program)
    is_deep = case in ("net", "functions", "gated")
    assert float(steps.max()) < (3.01 if is_deep else 1.01)
    assert is_deep or float((steps > 0.5).float().mean()) < 0.05


LINEAR = nn.Sequential(nn.Linear(48, 80), nn.GELU(), nn.Linear(80, 33))


@pytest.mark.parametrize("per_token", [False, True])
@pytest.mark.parametrize("rows", [(1,), (37,), (2, 13)])
def test_dynamic(rows: tuple[int, ...], per_token: bool) -> None:
    x = input_of((*rows, 48))
    exported = quantize(LINEAR, (x,), CpuQuantizer().set_global(dynamic_int8(per_token=per_token)), [(x,)])
    program = lower(exported)
    assert kinds(program) == {DynamicQuantize, Int8Gemm}
    with torch.no_grad():
        want = exported.module()(x)
    assert (run(program, x) - want).abs().max() < 1e-2 * want.abs().max()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 3e38])
@pytest.mark.parametrize("config", [dynamic_int8(), dynamic_int8(per_token=True), dynamic_int8_weight_int4()])
def test_special_numbers_in_dynamic_products(config: Any, value: float) -> None:
    torch.manual_seed(0)  # with other weights, numbers near 3e38 may cancel
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 33))
    x = input_of((7, 64))
    exported = quantize(model, (x,), CpuQuantizer().set_global(config), [(x,)])
    program = lower(exported)
    x[3, 11] = value
    with torch.no_grad():
        want = exported.module()(x)
    torch.testing.assert_close(run(program, x), want, rtol=1e-2, atol=1e-2, equal_nan=True)


class Residuals(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(24, 24), nn.Linear(24, 24), nn.Linear(24, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.layer_norm(x, (24,))
        y = y + self.first(y)
        y = F.gelu(self.second(x) + y)
        return torch.relu(y + self.third(torch.tanh(y)))


def test_residuals_of_dynamic_products() -> None:
    x = input_of((2, 19, 24))
    exported = quantize(Residuals(), (x,), CpuQuantizer().set_global(dynamic_int8()), [(x,)])
    program = lower(exported)
    assert len([s for s in plan_of(program).steps if isinstance(s.operation, Int8Gemm)]) == 3
    with torch.no_grad():
        want = exported.module()(x)
    assert (run(program, x) - want).abs().max() < 2e-2 * want.abs().max()


class Shortcuts(nn.Module):
    """Sums that are fused into convolutions. The convolution is the first or the second operand."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.beside = nn.Conv2d(24, 37, 1), nn.Conv2d(24, 37, 3, padding=1)
        self.down, self.square = nn.Conv2d(37, 32, 1), nn.Conv2d(32, 32, 3, padding=1)
        self.grouped, self.linear = nn.Conv2d(32, 32, 1, groups=2), nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.down(torch.relu(self.up(x) + self.beside(x)))
        y = y + torch.relu(self.square(y))
        y = F.relu6(self.grouped(y) + y).flatten(2).transpose(1, 2).contiguous()
        return y + self.linear(y)


def test_sums_are_those_of_a_step_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    x = input_of((1, 24, 14, 13))
    exported = quantize(Shortcuts().eval(), (x,), CpuQuantizer().set_global(static_int8()), [(x,)])
    fused = lower(exported)
    assert Int8Binary not in kinds(fused)
    monkeypatch.setattr(QuantizedLowering, "int8_convolution_of", lambda *_: None)
    apart = lower(exported)
    assert [type(step.operation) for step in plan_of(apart).steps].count(Int8Binary) == 4
    with torch.no_grad():
        want = exported.module()(x)
    assert (run(apart, x) - want).abs().max() < 2.01 * quantum(apart)
    # If the product is the second operand, ties may round differently, because sums have another order.
    steps = (run(fused, x) - run(apart, x)).abs() / quantum(fused)
    assert float(steps.max()) < 1.01 and float((steps > 0.5).float().mean()) < 1e-3


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(96, 70), nn.Linear(70, 96, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.second(F.gelu(self.first(x)))


SMALL: dict[str, Any] = {
    "int8": weight_only_int8,
    "int4": lambda: weight_only_int4(group_size=32),
    "int4 in groups of 10": lambda: weight_only_int4(group_size=10),
}


@pytest.mark.parametrize("config", SMALL)
@pytest.mark.parametrize("rows", [(1,), (2, 3), (13,), (41,)])
def test_small_weights(rows: tuple[int, ...], config: str) -> None:
    x = input_of((*rows, 96))
    exported = quantize(Small(), (x,), CpuQuantizer().set_global(SMALL[config]()), [(x,)])
    program = lower(exported)
    assert WeightOnlyGemm in kinds(program)
    with torch.no_grad():
        want = exported.module()(x)
    assert (run(program, x) - want).abs().max() < 1e-5 * want.abs().max()


@pytest.mark.parametrize("config", SMALL)
def test_small_weights_of_huge_inputs(config: str) -> None:
    x = input_of((3, 160))
    x[0, 7], x[1, 41], x[2, 159] = 3e38, torch.inf, torch.nan
    seen = input_of((3, 160))
    exported = quantize(nn.Linear(160, 20), (seen,), CpuQuantizer().set_global(SMALL[config]()), [(seen,)])
    program = lower(exported)
    assert WeightOnlyGemm in kinds(program)
    with torch.no_grad():
        want = exported.module()(x)
    assert want[0].isfinite().all()
    torch.testing.assert_close(run(program, x), want, equal_nan=True)


@pytest.mark.parametrize("group_size", [32, 96])
@pytest.mark.parametrize("rows", [(1,), (2, 3), (53,)])
def test_dynamic_with_4_bit_weights(rows: tuple[int, ...], group_size: int) -> None:
    x = input_of((*rows, 96))
    model = nn.Sequential(nn.Linear(96, 192), nn.ReLU6(), nn.Linear(192, 37, bias=False), nn.SiLU())
    config = dynamic_int8_weight_int4(group_size=group_size)
    exported = quantize(model, (x,), CpuQuantizer().set_global(config), [(x,)])
    program = lower(exported)
    assert kinds(program) == {DynamicQuantize, Int4Gemm}
    with torch.no_grad():
        want = exported.module()(x)
    # Ties in the second product may round differently.
    assert (run(program, x) - want).abs().max() < 1e-2 * want.abs().max()


@pytest.mark.parametrize("rows", [(1,), (2, 3), (53,)])
def test_the_usual_recipe_of_language_models(rows: tuple[int, ...]) -> None:
    x = input_of((*rows, 64))
    model = nn.Sequential(nn.Linear(64, 40, bias=False))
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))  # type: ignore[attr-defined]
    quantize_(model, config)
    exported = torch.export.export(model, (x,))
    program = lower(exported)
    assert kinds(program) == {DynamicQuantize, Int4Gemm}
    with torch.no_grad():
        want = model(x)
    assert (run(program, x) - want).abs().max() < 2e-5 * want.abs().max()


class Tied(nn.Module):
    """A table that is an embedding and also the last matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(50, 64), nn.Linear(64, 50, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.head(torch.tanh(self.table(ids)))
        return y


@pytest.mark.parametrize("config", SMALL)
def test_tables(config: str) -> None:
    config = "int4 in groups of 16" if "of 10" in config else config
    configs = {**SMALL, "int4 in groups of 16": lambda: weight_only_int4(group_size=16)}
    ids = torch.randint(0, 50, (2, 7), generator=torch.Generator().manual_seed(1))
    exported = quantize(Tied(), (ids,), CpuQuantizer().set_global(configs[config]()), [(ids,)])
    program = lower(exported)
    assert {QuantizedGather, WeightOnlyGemm} <= kinds(program)
    assert len(program) < 50 * 64 * 2.5
    with torch.no_grad():
        want = exported.module()(ids)
    assert (run(program, ids) - want).abs().max() < 1e-5 * want.abs().max()
    with pytest.raises(RushlightError, match="index 50 is outside of a table of 50 rows"):
        run(program, torch.full((2, 7), 50))


def test_a_plan_for_another_machine_runs() -> None:
    module, shape = CASES["grouped"]
    x = input_of(shape)
    exported = quantize(module.eval(), (x,), QUANTIZERS["channel"](), [(x,)])
    got = [
        run(lower(exported, CpuPartitioner(target)), x) for target in ("generic", "avx2", "avx512", "neon")
    ]
    assert all(torch.equal(got[0], other) for other in got[1:])


def test_dynamic_sizes() -> None:
    batch = torch.export.Dim("batch", min=1, max=9)
    x = input_of((4, 3, 12, 12))
    model = nn.Sequential(nn.Conv2d(3, 20, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    quantizer = CpuQuantizer().set_global(static_int8())
    exported = quantize(model.eval(), (x,), quantizer, [(x,)], dynamic_shapes=({0: batch},))
    program = lower(exported)
    for size in (1, 4, 9):
        y = input_of((size, 3, 12, 12))
        with torch.no_grad():
            want = exported.module()(y)
        assert (run(program, y) - want).abs().max() < 1.01 * quantum(program)


def test_unsigned_numbers_at_the_ends() -> None:
    x = (torch.rand(2, 6, 5, 5) * 255).to(torch.uint8)
    op = torch.ops.quantized_decomposed

    class Unsigned(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            real = op.dequantize_per_tensor.default(x, 0.02, 30, 0, 255, torch.uint8)
            other = torch.sigmoid(real)
            whole = op.quantize_per_tensor.default(other, 0.004, 3, 0, 255, torch.uint8)
            again = op.dequantize_per_tensor.default(whole, 0.004, 3, 0, 255, torch.uint8)
            return op.quantize_per_tensor.default(real + again, 0.03, 100, 0, 255, torch.uint8)

    exported = torch.export.export(Unsigned(), (x,))
    edge = to_edge_transform_and_lower(exported, partitioner=[CpuPartitioner()])
    got = run(bytes(edge.to_executorch().buffer), x)
    assert got.dtype is torch.uint8
    assert (got.int() - Unsigned()(x).int()).abs().max() <= 1


def test_a_smaller_range_of_the_same_parameters_clamps() -> None:
    op = torch.ops.quantized_decomposed

    class Narrower(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(128, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            y = op.quantize_per_tensor.default(x, 0.02, 5, -128, 127, torch.int8)
            real = op.dequantize_per_tensor.default(y, 0.02, 5, -128, 127, torch.int8)
            narrow = op.quantize_per_tensor.default(real, 0.02, 5, -60, 70, torch.int8)
            return op.dequantize_per_tensor.default(narrow, 0.02, 5, -60, 70, torch.int8), self.linear(real)

    model, x = Narrower(), torch.linspace(-3, 3, 256).reshape(2, 128)
    program = lower(torch.export.export(model, (x,)))
    got = Runtime.get().load_program(program).load_method("forward").execute([x])
    for result, expected in zip(got, model(x), strict=True):
        torch.testing.assert_close(torch.as_tensor(result), expected)


@pytest.mark.damage
@pytest.mark.parametrize("case", ["static", "dynamic", "weights", "both"])
def test_a_damaged_plan_gives_an_error_or_a_result(case: str) -> None:
    module, shape = CASES["net"] if case == "static" else (Small(), (3, 96))
    if case == "both":
        module = nn.Linear(96, 70)
    configs = {
        "static": static_int8,
        "dynamic": dynamic_int8,
        "weights": lambda: weight_only_int4(group_size=32),
        "both": dynamic_int8_weight_int4,
    }
    x = input_of(shape)
    program = lower(quantize(module.eval(), (x,), CpuQuantizer().set_global(configs[case]()), [(x,)]))  # type: ignore[operator]
    assert refusals(damaged(program, 700, 0), (x,)) > 35


# The sizes of two operands of a multiplication.
SHORT_ROWS = [
    ((2, 16, 12, 11), (2, 16, 1, 1)),
    ((1, 3, 40, 60), (1, 3, 1, 1)),
    ((1, 600, 3, 3), (1, 600, 1, 1)),
    ((1, 1, 1, 7), (2, 5, 9, 7)),
]


@pytest.mark.parametrize(("sizes", "others"), SHORT_ROWS)
def test_products_with_short_rows(sizes: tuple[int, ...], others: tuple[int, ...]) -> None:
    class Product(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x.relu() * y.relu()

    torch.manual_seed(0)
    x, y = (torch.randn(size).contiguous(memory_format=torch.channels_last) for size in (sizes, others))
    program = quantize(Product(), (x, y), CpuQuantizer().set_global(static_int8()), [(x, y)])
    lowered = lower(program)
    assert Int8Binary in kinds(lowered)
    expected = program.module()(x, y)
    assert (run(lowered, x, y) - expected).abs().max() <= 1.01 * dequantize_scale(program)


class Tokens(nn.Module):
    """Linear layers with residuals whose first operand is a transposed image."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.first, self.second = nn.Conv2d(3, 32, 1), nn.Linear(32, 32), nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # [n, c, h, w] -> [c * h / 2, 2, w / 2, 2] -> four tokens of a patch [n * 4, h * w / 4, c]
        image = self.conv(x)
        n, c, h, w = image.shape
        y = image.reshape(n * c * h // 2, 2, w // 2, 2).transpose(1, 2)
        y = y.reshape(n, c, h * w // 4, 4).transpose(1, 3).reshape(n * 4, h * w // 4, c)
        y = y + self.first(y)
        return y + self.second(y)


def test_sums_of_tokens_have_rows() -> None:
    """The first sum copies the transposed operand, and the second sum is fused into its product."""
    torch.manual_seed(0)
    module, inputs = Tokens().eval(), (input_of((1, 3, 32, 32)),)
    program = quantize(module, inputs, CpuQuantizer().set_global(static_int8()), [inputs])
    lowered = lower(program)
    assert [type(step.operation) for step in plan_of(lowered).steps].count(Int8Binary) == 1
    expected = program.module()(*inputs)
    assert (run(lowered, *inputs) - expected).abs().max() <= 2 * dequantize_scale(program)


class SharedQuantization(nn.Module):
    """Products of one dynamically quantized value, around an operator that plans do not support."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16, bias=False)
        self.bias = bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.bias:  # the bias is not constant, so that a kernel computes one of the products
            return F.linear(x, self.first.weight, x.sort(-1)[0][0, 0]) + self.second(x)
        return self.second(self.first(x).sort(-1)[0])  # `second` is a plain product of the second plan


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("per_token", [False, True])
def test_a_dynamic_quantization_is_in_the_plan_of_its_products(bias: bool, per_token: bool) -> None:
    x = torch.randn(2, 3, 16)
    program = torch.export.export(SharedQuantization(bias).eval(), (x,))
    quantized = quantize(program, None, CpuQuantizer().set_global(dynamic_int8(per_token=per_token)), [(x,)])
    edge = to_edge(quantized, compile_config=EdgeCompileConfig(core_aten_only=False))
    lowered = edge.to_backend(CpuPartitioner()).to_executorch()
    got = rushlight.load(lowered.buffer)(x)
    torch.testing.assert_close(got, quantized.module()(x), rtol=0, atol=1e-4)
