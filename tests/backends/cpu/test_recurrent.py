"""LSTM and GRU layers as steps of a plan."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, plan_of, run
from tests.backends.cpu.test_values import special
from torch import nn
from torch.utils._pytree import tree_leaves

from rushlight.api import compile
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.payload import read_plan, write_plan
from rushlight.backends.cpu.plan.tables import (
    Copy,
    Gemm,
    Recurrent,
    WeightOnlyGemm,
    WeightOnlyRecurrent,
)
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.format.pte import read_pte
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import dynamic_int8, weight_only_int4, weight_only_int8
from rushlight.runtime import Runtime, RushlightError
from rushlight.runtime.module import load


class WithStates(nn.Module):
    """A layer whose initial and final states are inputs and results."""

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor, *states: torch.Tensor) -> Any:
        return self.layer(x * 2, states if len(states) > 1 else states[0])


# Options, (batch, steps, hidden), and whether the initial states are inputs.
CASES: dict[str, tuple[type[nn.RNNBase], dict[str, Any], tuple[int, int, int], bool]] = {
    "lstm": (nn.LSTM, {"batch_first": True}, (1, 9, 48), False),
    "lstm_layers": (nn.LSTM, {"num_layers": 3}, (2, 5, 20), True),
    "lstm_bidirectional": (
        nn.LSTM,
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        (3, 6, 5),
        True,
    ),
    "lstm_without_bias": (nn.LSTM, {"bias": False}, (20, 3, 16), False),
    "lstm_one_step": (nn.LSTM, {"bidirectional": True}, (1, 1, 33), True),
    "gru": (nn.GRU, {}, (1, 9, 48), True),
    "gru_layers": (nn.GRU, {"num_layers": 2, "bidirectional": True}, (2, 6, 5), False),
    "gru_without_bias": (nn.GRU, {"bias": False, "batch_first": True}, (4, 5, 20), True),
}


@pytest.mark.parametrize("name", CASES)
def test_layers(name: str) -> None:
    kind, options, (batch, steps, hidden), has_states = CASES[name]
    torch.manual_seed(0)
    layer = kind(7, hidden, **options)  # type: ignore[arg-type]
    inputs = (torch.randn((batch, steps, 7) if layer.batch_first else (steps, batch, 7)),)
    model: nn.Module = layer
    if has_states:
        model = WithStates(layer)
        rows = layer.num_layers * (1 + layer.bidirectional)
        inputs += tuple(torch.randn(rows, batch, hidden) for _ in range(2 if kind is nn.LSTM else 1))  # type: ignore[assignment]
    program, outside = lower(model, inputs)
    assert not outside
    assert_close(run(program, inputs), expected(model, inputs))


def test_a_layer_is_two_steps() -> None:
    x = torch.randn(1, 64, 8)
    program, _ = lower(nn.LSTM(8, 16, 2, batch_first=True), (x,))
    kinds = [type(step.operation) for step in plan_of(program).steps]
    assert [k for k in kinds if k is not Copy] == [Gemm, Recurrent] * 2


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_dynamic_batch(kind: type[nn.RNNBase]) -> None:
    torch.manual_seed(1)
    model = kind(6, 20, 2, batch_first=True, bidirectional=True)  # type: ignore[arg-type]
    shapes = {0: torch.export.Dim("batch", min=0, max=6)}
    program, outside = lower(model, (torch.randn(2, 11, 6),), (shapes,))
    assert not [name for name in outside if "sym_size" not in name]
    for batch in (1, 6, 3, 0):
        inputs = (torch.randn(batch, 11, 6),)
        assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize("target", ["generic", "avx512", "neon"])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_a_plan_for_another_machine(kind: type[nn.RNNBase], target: str) -> None:
    torch.manual_seed(2)
    model, inputs = kind(9, 37), (torch.randn(4, 3, 9),)  # type: ignore[arg-type, call-arg]
    program, _ = lower(model, inputs, partitioner=CpuPartitioner(target))
    assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_special_numbers(kind: type[nn.RNNBase]) -> None:
    model, inputs = kind(9, 8), (special(4, 3, 9),)  # type: ignore[arg-type, call-arg]
    program, _ = lower(model, inputs)
    for got, want in zip(run(program, inputs), expected(model, inputs), strict=True):
        assert torch.equal(got.isnan(), want.isnan())
        torch.testing.assert_close(got[~want.isnan()], want[~want.isnan()], rtol=1e-5, atol=1e-5)


@pytest.mark.threads
def test_thread_counts_give_equal_results() -> None:
    torch.manual_seed(3)
    inputs = (torch.randn(1, 5, 64),)
    program, _ = lower(nn.LSTM(64, 160, 2, batch_first=True), inputs)
    results = []
    for threads in (1, 2, 2):
        results.append(torch.as_tensor(load(program, threads=threads)(*inputs)[0]))
    assert torch.equal(results[1], results[2])
    torch.testing.assert_close(results[0], results[1], rtol=1e-6, atol=1e-6)


CONFIGS: dict[str, Any] = {
    "int8": weight_only_int8,
    "int8 in groups": lambda: weight_only_int8(group_size=20),
    "int4": lambda: weight_only_int4(group_size=20),
    "dynamic": dynamic_int8,
}


class Flat:
    """A model with nested results, which are returned as a list."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def __call__(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            return tree_leaves(self.model(*inputs))


def quantized(
    model: nn.Module, inputs: Any, config: str, shapes: Any = None, target: str | None = None
) -> tuple[bytes, Any]:
    """Returns the program file of a quantized model, and a function that computes its flat results."""
    quantizer = CpuQuantizer().set_global(CONFIGS[config]())
    program = quantize(model.eval(), inputs, quantizer, dynamic_shapes=shapes)
    return compile(program, partitioner=[CpuPartitioner(target)]).buffer, Flat(program.module())


# Weights of 60 units are converted to floats when the program is loaded, weights of 480 units are not.
@pytest.mark.parametrize("hidden", [60, 480])
@pytest.mark.parametrize("batch", [1, 3, 5])
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_quantized_weights(kind: type[nn.RNNBase], config: str, batch: int, hidden: int) -> None:
    torch.manual_seed(4)
    options = {"bidirectional": hidden == 60, "bias": batch != 3}
    model, inputs = kind(40, hidden, **options), (torch.randn(3, batch, 40),)  # type: ignore[arg-type]
    data, eager = quantized(model, inputs, config)
    assert {type(step.operation) for step in plan_of(data).steps} >= {WeightOnlyGemm, WeightOnlyRecurrent}
    assert len(data) < 0.4 * sum(4 * parameter.numel() for parameter in model.parameters())
    assert_close(run(data, inputs), eager(*inputs))


@pytest.mark.parametrize("config", ["int8", "int4"])
def test_dynamic_batch_with_quantized_weights(config: str) -> None:
    torch.manual_seed(5)
    model = nn.LSTM(40, 480, batch_first=True)
    shapes = ({0: torch.export.Dim("batch", min=0, max=4)},)
    data, eager = quantized(model, (torch.randn(2, 3, 40),), config, shapes)
    for batch in (1, 4, 3, 0):
        inputs = (torch.randn(batch, 3, 40),)
        assert_close(run(data, inputs), eager(*inputs))


@pytest.mark.parametrize("hidden", [60, 480])
@pytest.mark.parametrize("target", ["generic", "avx512", "neon"])
def test_a_plan_with_quantized_weights_for_another_machine(target: str, hidden: int) -> None:
    torch.manual_seed(6)
    model, inputs = nn.GRU(40, hidden), (torch.randn(4, 1, 40),)
    data, eager = quantized(model, inputs, "int8", target=target)
    assert_close(run(data, inputs), eager(*inputs))


@pytest.mark.threads
def test_thread_counts_give_equal_results_with_quantized_weights() -> None:
    torch.manual_seed(7)
    inputs = (torch.randn(4, 1, 40),)
    data, eager = quantized(nn.LSTM(40, 480), inputs, "int8")
    results = [torch.as_tensor(load(data, threads=threads)(*inputs)[0]) for threads in (1, 2)]
    torch.testing.assert_close(results[0], results[1], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(results[0], eager(*inputs)[0], rtol=1e-4, atol=1e-5)


def refuse(data: bytes, kind: type[Any], field: str, value: object) -> None:
    """Checks that the runtime refuses a program if a field of its first step of a kind changes.

    Args:
        data: a program with one plan.
        kind: the operation of the step.
        field: the name of the field.
        value: its new value, or the name of another field with this value.
    """
    (payload,) = read_pte(data).delegate_data
    plan = read_plan(bytes(payload))
    step = next(s.operation for s in plan.steps if isinstance(s.operation, kind))
    setattr(step, field, getattr(step, value) if isinstance(value, str) else value)
    changed = write_plan(plan)
    start = data.index(bytes(payload))
    assert len(changed) <= len(payload)
    file = data[:start] + changed.ljust(len(payload), b"\0") + data[start + len(payload) :]
    with pytest.raises(RushlightError, match="recurrent|Recurrent|quantized weights"):
        Runtime.get().load_program(file).load_method("forward")


@pytest.mark.parametrize(
    ("field", "value"),
    [("hidden", 1 << 18), ("last_cell", None), ("is_gru", True), ("projected", "last_state")],
)
def test_a_wrong_step_is_refused(field: str, value: object) -> None:
    refuse(lower(nn.LSTM(8, 16), (torch.randn(3, 2, 8),))[0], Recurrent, field, value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("hidden", 1 << 18), ("last_cell", None), ("bits", 6), ("group", 7), ("weight_scale", "last_state")],
)
def test_a_wrong_step_with_quantized_weights_is_refused(field: str, value: object) -> None:
    data, _ = quantized(nn.LSTM(40, 60), (torch.randn(3, 1, 40),), "int8")
    refuse(data, WeightOnlyRecurrent, field, value)


def test_projected_states_are_taken_apart() -> None:
    model, inputs = nn.LSTM(8, 16, proj_size=4), (torch.randn(3, 2, 8),)
    assert_close(run(lower(model, inputs)[0], inputs), expected(model, inputs))
