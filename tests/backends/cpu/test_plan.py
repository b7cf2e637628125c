"""Plans: fusion, layouts, options, and errors of damaged plans."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch
from tests.backends.cpu.support import (
    PRECISIONS,
    assert_close,
    expected,
    kinds,
    lower,
    operations,
    plan_of,
    run,
)
from torch import nn

from rushlight.backends.cpu.backend import CpuBackend
from rushlight.backends.cpu.options import Float32MatmulPrecision
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan import arena
from rushlight.backends.cpu.plan.payload import read_plan, write_plan
from rushlight.backends.cpu.plan.tables import Copy, Elementwise, Gemm, Reduce, Softmax, StorageKind, Winograd
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.delegate.backend import CompileSpec
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.format.errors import MalformedError
from rushlight.format.pte import read_pte
from rushlight.memory.problem import PlanError
from rushlight.quantize import export_float, quantize, static_int8
from rushlight.runtime import Runtime, RushlightError


def block(channels: int = 32) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()
    )


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8)
        self.pool = nn.MaxPool2d(2)
        self.linear = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.pool(torch.relu(self.depthwise(self.stem(x))))
        y = torch.cat([y, y * 2], 1)[:, 4:12]
        y = torch.softmax(self.linear(y.mean((2, 3))), -1)
        y = nn.functional.layer_norm(y, (5,))
        return nn.functional.pad(y, (1, 1)) + torch.tanh(y).sum(-1, keepdim=True)


IMAGE = (torch.randn(1, 32, 28, 28),)


def test_batch_norm_and_activation_are_part_of_a_convolution() -> None:
    program, _ = lower(nn.Sequential(block(), nn.Conv2d(32, 8, 1)), IMAGE)
    assert [kind for kind in kinds(program) if kind is not Copy] in (
        [Winograd, Gemm],
        [Gemm, Gemm],
    )


def test_sums_lie_as_convolutions_read_them() -> None:
    """Later residuals are fused for all layouts of the program's input."""
    model = nn.ModuleList(nn.Conv2d(16, 16, 1) for _ in range(3))

    def blocks(x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(x)
        for convolution in model:
            x = torch.relu(x + convolution(x))
        return x.mean((2, 3))

    inputs = (torch.randn(1, 16, 9, 7),)
    program, _ = lower(blocks, inputs)
    assert kinds(program)[2:] == [
        Gemm,
        Elementwise,
        *[Gemm] * 2,
        Reduce,
    ]
    assert_close(run(program, inputs), expected(blocks, inputs))


def test_views_cost_nothing() -> None:
    inputs = (torch.randn(4, 6, 8),)
    program, _ = lower(lambda x: (x[:, 1:3] * x.select(1, 0)[:, None] + 1).reshape(4, 16), inputs)
    assert kinds(program) == [Elementwise]


def test_the_highest_precision_takes_no_algorithm_with_larger_errors() -> None:
    torch.manual_seed(0)
    model = block(64)
    inputs = (torch.randn(1, 64, 56, 56),)
    errors = {}
    for precision in PRECISIONS:
        partitioner = CpuPartitioner(float32_matmul_precision=precision)
        program, _ = lower(model, inputs, partitioner=partitioner)
        (m,) = [step.m for step in operations(program, Winograd)] or [0]
        assert m in ((0, 2) if precision == "highest" else (4,))
        (got,), (want,) = run(program, inputs), expected(model, inputs)
        errors[precision] = float((got - want).abs().max() / want.abs().max())
    assert errors["highest"] < 2e-6 and errors["high"] < 2e-5


def test_another_precision_is_refused() -> None:
    message = "float32_matmul_precision is 'highest' or 'high', not 'medium'"
    with pytest.raises(ValueError, match=message):
        CpuPartitioner(float32_matmul_precision="medium")  # type: ignore[arg-type]
    program = torch.export.export(block().eval(), (torch.randn(1, 32, 8, 8),))
    edge = to_edge(program).exported_program()
    with pytest.raises(ValueError, match=message):
        CpuBackend.preprocess(edge, [CompileSpec("float32_matmul_precision", b"medium")])


@pytest.mark.parametrize("target", ["avx2", "avx512"])
@pytest.mark.parametrize(("channels", "pixels", "m"), [(32, 28, 4), (256, 14, 3), (512, 7, 2)])
def test_winograd_tiles_are_smaller_where_weights_outweigh_pixels(
    target: str, channels: int, pixels: int, m: int
) -> None:
    inputs = (torch.randn(1, channels, pixels, pixels),)
    partitioner = CpuPartitioner(target, float32_matmul_precision="high")
    program, _ = lower(nn.Conv2d(channels, channels, 3, padding=1), inputs, partitioner=partitioner)
    assert [step.m for step in operations(program, Winograd)] == [m]


@pytest.mark.parametrize("target", ["generic", "avx2", "avx512", "neon"])
@pytest.mark.parametrize("compact", [False, True])
def test_windows_two_apart_share_products(target: str, compact: bool) -> None:
    torch.manual_seed(0)
    model = nn.Conv2d(64, 72, 3, 2, padding=1)
    inputs = (torch.randn(1, 64, 28, 28),)
    partitioner = CpuPartitioner(target, compact=compact)
    program, _ = lower(model, inputs, partitioner=partitioner)
    assert kinds(program).count(Winograd) == (0 if compact else 1)
    assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize("target", ["generic", "avx2", "avx512", "neon", "rvv", "rvv256"])
def test_a_plan_for_another_machine_runs(target: str) -> None:
    model = nn.Sequential(block(), nn.Conv2d(32, 50, 1), nn.Conv2d(50, 50, 3, groups=50))
    program, _ = lower(model, IMAGE, partitioner=CpuPartitioner(target))
    assert plan_of(program).target == target
    assert_close(run(program, IMAGE), expected(model, IMAGE))


@pytest.mark.parametrize("target", ["avx2", "neon"])
@pytest.mark.parametrize(("precision", "pixels", "m"), [("highest", 28, 2), ("high", 9, 3), ("high", 28, 4)])
def test_compact_files_hold_no_transformed_weights(
    target: str, precision: Float32MatmulPrecision, pixels: int, m: int
) -> None:
    torch.manual_seed(0)
    model = block(70)
    inputs = (torch.randn(4, 70, pixels, pixels),)
    files, results = [], []
    for compact in (False, True):
        partitioner = CpuPartitioner(target, float32_matmul_precision=precision, compact=compact)
        program, _ = lower(model, inputs, partitioner=partitioner)
        assert [step.m for step in operations(program, Winograd)] == [m]
        files.append(len(program))
        results += run(program, inputs)
    taps = 9
    assert (files[0] - files[1]) / (70 * 70 * 4) == pytest.approx((m + 2) ** 2 - taps, rel=0.2)
    assert_close(results, [*expected(model, inputs)] * 2)


def test_an_unknown_target_is_named() -> None:
    with pytest.raises(ValueError, match="no target 'vax'; the targets are .*avx2"):
        CpuPartitioner("vax")


def test_what_stays_has_a_reason() -> None:
    partitioner = CpuPartitioner()
    _, outside = lower(lambda x: torch.asinh(x @ x.t()), (torch.randn(6, 6),), None, partitioner)
    assert any("asinh" in name for name in outside)
    assert "asinh" in partitioner.report.get_table_report()


def test_equal_weights_are_stored_once() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(256, 256)
    twice, _ = lower(nn.Sequential(layer, nn.ReLU(), layer), (torch.randn(4, 256),))
    once, _ = lower(nn.Sequential(layer, nn.ReLU()), (torch.randn(4, 256),))
    assert len(twice) < len(once) + 4096


def test_the_arena_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def overlapping(problem: object) -> object:
        plan = best(problem)  # type: ignore[arg-type]
        return replace(plan, offsets={key: 0 for key in plan.offsets})

    best = arena.plan_exactly
    monkeypatch.setattr(arena, "plan_exactly", overlapping)
    with pytest.raises(PlanError):
        lower(nn.Sequential(block(), block()), IMAGE)


def test_the_arena_holds_what_lives_together() -> None:
    program, _ = lower(nn.Sequential(*(block() for _ in range(6))), IMAGE)
    plan = plan_of(program)
    image = 32 * 28 * 28 * 4
    ends = [s.offset + s.bytes for s in plan.storages if s.kind == StorageKind.ARENA]
    assert max(ends) <= plan.arena_bytes <= 2 * image


def test_a_plan_is_read_as_written() -> None:
    plan = plan_of(lower(Net(), (torch.randn(1, 3, 16, 16),))[0])
    assert read_plan(write_plan(plan)) == plan


@pytest.fixture(scope="module")
def damaged() -> tuple[bytearray, int, int, torch.Tensor]:
    """Returns a file, the start and the end of its payload, and an input."""
    inputs = torch.randn(1, 3, 16, 16)
    data = bytearray(lower(Net(), (inputs,))[0])
    payload = max((bytes(item) for item in read_pte(bytes(data)).delegate_data), key=len)
    start = data.index(payload)
    return data, start, start + len(payload), inputs


def attempt(data: bytearray, inputs: torch.Tensor) -> None:
    try:
        Runtime.get().load_program(bytes(data)).load_method("forward").execute([inputs])
    except RushlightError as error:
        assert str(error)


@pytest.mark.damage
@pytest.mark.parametrize("change", ["flip", "zero", "ones", "increment"])
def test_a_damaged_byte_gives_an_error_or_a_result(
    change: str, damaged: tuple[bytearray, int, int, torch.Tensor]
) -> None:
    data, start, end, inputs = damaged
    chosen = random.Random(change)
    for at in sorted(chosen.sample(range(start, end), min(1500, end - start))):
        old = data[at]
        data[at] = {
            "flip": old ^ 1 << chosen.randrange(8),
            "zero": 0,
            "ones": 255,
            "increment": (old + 1) % 256,
        }[change]
        attempt(data, inputs)
        data[at] = old


@pytest.mark.damage
def test_damaged_words_give_an_error_or_a_result(
    damaged: tuple[bytearray, int, int, torch.Tensor],
) -> None:
    data, start, end, inputs = damaged
    chosen = random.Random(7)
    for _ in range(1500):
        at = chosen.randrange(start, end - 4) & ~3
        old = bytes(data[at : at + 4])
        word = chosen.choice([0xFFFFFFFF, 0x7FFFFFFF, 1 << chosen.randrange(32), chosen.randrange(1 << 16)])
        data[at : at + 4] = word.to_bytes(4, "little")
        attempt(data, inputs)
        data[at : at + 4] = old


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("other", "Softmax|softmax"),
        ("few_channels", "Gemm.weight"),
        ("far_value", "Gemm.input"),
        ("no_output", "Gemm.output"),
        ("far_offset", "storage"),
        ("no_argument", "storage [0-9]+ of the plan refers to a missing argument"),
    ],
)
def test_a_wrong_plan_is_refused_with_a_reason(
    change: str, message: str, damaged: tuple[bytearray, int, int, torch.Tensor]
) -> None:
    data, start, end, inputs = damaged
    plan = read_plan(bytes(data[start:end]))
    step = next(step for step in plan.steps if isinstance(step.operation, Gemm))
    gemm = step.operation
    assert isinstance(gemm, Gemm)
    if change == "other":
        step.operation = Softmax(input=gemm.input, output=gemm.weight)
    elif change == "few_channels":
        gemm.channels += 1 << 12
    elif change == "far_value":
        gemm.input = len(plan.values) + 5
    elif change == "no_output":
        gemm.output = gemm.weight
    elif change == "no_argument":
        plan.storages[plan.values[gemm.weight].storage].kind = StorageKind.ARGUMENT
    else:
        next(s for s in plan.storages if s.kind == StorageKind.ARENA and s.offset).offset = 1 << 40
    payload = write_plan(plan)
    assert len(payload) <= end - start + 64
    changed = bytes(data[:start]) + payload.ljust(end - start, b"\0")[: end - start] + bytes(data[end:])
    with pytest.raises(RushlightError, match=message):
        Runtime.get().load_program(changed).load_method("forward")


def test_a_plan_of_an_older_layout_is_refused(damaged: tuple[bytearray, int, int, torch.Tensor]) -> None:
    data, start, end, _ = damaged
    assert bytes(data[start + 4 : start + 8]) == b"RCP2"
    data[start + 4 : start + 8] = b"RCP1"
    with pytest.raises(RushlightError, match="layout RCP1.*compile the model again"):
        Runtime.get().load_program(bytes(data)).load_method("forward")
    with pytest.raises(MalformedError, match="layout RCP1.*compile the model again"):
        read_plan(bytes(data[start:end]))


def test_what_is_computed_quantized_by_kernels_keeps_its_conversions() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ConvTranspose2d(8, 4, 2, groups=2))
    inputs = (torch.randn(1, 3, 8, 8),)
    quantizer = CpuQuantizer().set_global(static_int8())
    program = quantize(export_float(model.eval(), inputs), None, quantizer, [inputs])
    edge = to_edge_transform_and_lower(program, partitioner=[CpuPartitioner()])
    targets = [str(n.target) for n in edge.to_executorch().exported_program().graph.nodes]
    assert any("call_delegate" in target for target in targets)
    assert any("quantized_convolution" in target for target in targets)
    assert not any("aten.convolution" in target for target in targets)
