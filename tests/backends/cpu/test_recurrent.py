"""LSTM and GRU layers as steps of a plan."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, plan_of, run
from tests.backends.cpu.test_values import special
from torch import nn

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.payload import read_plan, write_plan
from rushlight.backends.cpu.plan.tables import Copy, Gemm, Recurrent
from rushlight.format.pte import read_pte
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


@pytest.mark.parametrize("change", ["hidden", "no_cell", "kind", "shape"])
def test_a_wrong_step_is_refused(change: str) -> None:
    inputs = (torch.randn(3, 2, 8),)
    data = lower(nn.LSTM(8, 16), inputs)[0]
    (payload,) = read_pte(data).delegate_data
    plan = read_plan(bytes(payload))
    step = next(s.operation for s in plan.steps if isinstance(s.operation, Recurrent))
    if change == "hidden":
        step.hidden = 1 << 18
    elif change == "no_cell":
        step.last_cell = None
    elif change == "kind":
        step.is_gru = True
    else:
        step.projected = step.last_state
    changed = write_plan(plan)
    start = data.index(bytes(payload))
    assert len(changed) <= len(payload)
    file = data[:start] + changed.ljust(len(payload), b"\0") + data[start + len(payload) :]
    with pytest.raises(RushlightError, match="recurrent|Recurrent"):
        Runtime.get().load_program(file).load_method("forward")


def test_projected_states_are_taken_apart() -> None:
    model, inputs = nn.LSTM(8, 16, proj_size=4), (torch.randn(3, 2, 8),)
    assert_close(run(lower(model, inputs)[0], inputs), expected(model, inputs))
