"""Correct plans are changed to wrong ones. The check refuses each with the wrong step and operand."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import Function, lower
from torch import nn

from rushlight.backends.cpu import backend
from rushlight.backends.cpu.plan.check import check_plan
from rushlight.backends.cpu.plan.tables import Copy, Elementwise, Plan, Scatter, Step, StorageKind
from rushlight.ir.errors import InternalError

Versions = Sequence[Sequence[int]]


class Network(nn.Module):
    """Convolutions with concatenated and added results: the plan has steps that work in place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 1)
        self.last = nn.Conv2d(16, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.tanh(self.first(x))
        b = torch.sigmoid(self.second(a))
        joined = torch.cat((torch.exp(a), torch.exp(b)), 1)
        return torch.softmax(self.last(joined) + a, 1)


class Cache(nn.Module):
    """A state that is changed in place and then read."""

    rows: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 3))

    def forward(self, x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        self.rows.index_copy_(0, place, torch.exp(x))
        return torch.tanh(self.rows) @ self.rows.t()


def planned(monkeypatch: pytest.MonkeyPatch, model: Any, *inputs: torch.Tensor) -> tuple[Plan, Versions]:
    """Returns the plan of a model as the check gets it."""
    seen: list[tuple[Plan, Versions]] = []

    def note(plan: Plan, versions: Versions) -> None:
        seen.append((copy.deepcopy(plan), copy.deepcopy(versions)))
        check_plan(plan, versions)

    monkeypatch.setattr(backend, "check_plan", note)
    lower(model, inputs)
    (found,) = seen
    return found


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> tuple[Plan, Versions]:
    torch.manual_seed(0)
    return planned(monkeypatch, Network(), torch.randn(1, 8, 6, 6))


def values_of(step: Step) -> list[int]:
    return [value for _, value in step.operation.operands()]


def storage_of(plan: Plan, step: int, place: int) -> int:
    return plan.values[values_of(plan.steps[step])[place]].storage


def set_output(step: Step, value: int) -> None:
    operation: Any = step.operation
    operation.output = value


def of_arena(plan: Plan) -> list[int]:
    return [index for index, storage in enumerate(plan.storages) if storage.kind == StorageKind.ARENA]


def refused(plan: Plan, versions: Versions) -> str:
    with pytest.raises(InternalError) as error:
        check_plan(plan, versions)
    return str(error.value)


def test_a_step_that_is_left_out(network: tuple[Plan, Versions]) -> None:
    plan, versions = network
    for index in range(len(plan.steps)):
        without = copy.deepcopy(plan)
        del without.steps[index]
        assert "no step" in refused(without, [v for i, v in enumerate(versions) if i != index])


def test_two_steps_in_the_wrong_order(network: tuple[Plan, Versions]) -> None:
    plan, versions = network
    for index in range(len(plan.steps) - 1):
        written = storage_of(plan, index, -1)
        following = plan.steps[index + 1]
        if all(plan.values[value].storage != written for value in following.operation.reads()):
            continue
        turned, order = copy.deepcopy(plan), list(range(len(plan.steps)))
        order[index : index + 2] = [index + 1, index]
        turned.steps = [turned.steps[i] for i in order]
        assert f"step {index} " in refused(turned, [versions[i] for i in order])


def test_memory_that_is_used_twice_at_a_time(network: tuple[Plan, Versions]) -> None:
    plan, versions = network
    spans: dict[int, tuple[int, int]] = {}
    for index, step in enumerate(plan.steps):
        for value in values_of(step):
            storage = plan.values[value].storage
            spans[storage] = (spans.get(storage, (index, index))[0], index)
    pairs = [
        (a, b)
        for a in of_arena(plan)
        for b in of_arena(plan)
        if a != b and spans[a][0] < spans[b][1] and spans[b][0] < spans[a][1]
    ]
    assert pairs
    for a, b in pairs:
        moved = copy.deepcopy(plan)
        moved.storages[a].offset = plan.storages[b].offset
        assert "step" in refused(moved, versions)


def test_storages_with_each_others_places(network: tuple[Plan, Versions]) -> None:
    plan, versions = network
    large = max(of_arena(plan), key=lambda index: plan.storages[index].bytes)
    small = min(of_arena(plan), key=lambda index: plan.storages[index].bytes)
    assert plan.storages[large].bytes > plan.storages[small].bytes
    first, second = plan.storages[large], plan.storages[small]
    first.offset, second.offset = second.offset + second.bytes, first.offset
    assert "step" in refused(plan, versions)


def test_a_part_of_a_whole_that_is_written_elsewhere(network: tuple[Plan, Versions]) -> None:
    """Both steps write to the same part, so that no step writes to the other part."""
    plan, versions = network
    parts: dict[int, list[int]] = {}
    for index in range(len(plan.steps)):
        parts.setdefault(storage_of(plan, index, -1), []).append(index)
    first, second = next(steps for steps in parts.values() if len(steps) == 2)
    set_output(plan.steps[second], values_of(plan.steps[first])[-1])
    assert "reads elements that no step has written" in refused(plan, versions)


def test_a_place_beyond_the_arena(network: tuple[Plan, Versions]) -> None:
    plan, versions = network
    plan.storages[of_arena(plan)[-1]].offset = plan.arena_bytes
    assert "beyond the arena" in refused(plan, versions)


def test_a_view_beyond_its_storage(network: tuple[Plan, Versions]) -> None:
    plan, versions = network
    plan.storages[of_arena(plan)[0]].bytes -= 4
    assert "is not within" in refused(plan, versions)


def test_a_step_that_writes_over_an_input(network: tuple[Plan, Versions]) -> None:
    plan, versions = network
    given = next(a.value for a in plan.arguments if not a.is_output)
    assert given is not None
    set_output(plan.steps[0], given)
    assert "step 0 (" in (message := refused(plan, versions)) and "over an input" in message


def test_a_step_in_place_of_a_kind_that_must_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """An in-place chain becomes a copy onto itself, and then a chain whose operand has other strides."""
    plan, versions = planned(
        monkeypatch, Function(lambda x: torch.softmax(torch.exp(torch.softmax(x, -1)), -1)), torch.randn(4, 4)
    )
    index = next(i for i, step in enumerate(plan.steps) if isinstance(step.operation, Elementwise))
    chain = plan.steps[index].operation
    assert isinstance(chain, Elementwise)
    other = copy.deepcopy(plan)
    other.steps[index].operation = Copy(input=chain.inputs[0], output=chain.output)
    source, target = (storage_of(plan, index, place) for place in (0, -1))
    same = plan.storages[source].offset == plan.storages[target].offset
    assert same and f"step {index} (Copy) reads memory that it also overwrites" in refused(other, versions)
    view = other.values[chain.inputs[0]]
    view.strides = view.strides[::-1]
    other.steps[index].operation = chain
    assert "reads memory that it also overwrites" in refused(other, versions)


def test_states_are_read_before_or_after_their_update(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, versions = planned(monkeypatch, Cache(), torch.randn(1, 3), torch.tensor([2]))
    update = next(i for i, step in enumerate(plan.steps) if isinstance(step.operation, Scatter))
    order = [update + 1, *(i for i in range(len(plan.steps)) if i != update + 1)]
    early = copy.deepcopy(plan)
    early.steps = [plan.steps[i] for i in order]
    message = refused(early, [versions[i] for i in order])
    assert "step 0 " in message and "updated 0 times" in message
    twice = copy.deepcopy(plan)
    twice.steps.insert(update, plan.steps[update])
    assert "is update 2" in refused(twice, [*versions[:update], versions[update], *versions[update:]])


def test_elements_that_are_read_before_they_are_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros are written around a value.

    A step that reads the memory before the value exists gets other numbers.
    """
    plan, versions = planned(
        monkeypatch,
        Function(lambda x: torch.softmax(nn.functional.pad(x * 2, (1, 1)), -1)),
        torch.randn(3, 4),
    )
    copies = [i for i, step in enumerate(plan.steps) if isinstance(step.operation, Copy)]
    inside, reader = copies[-1], copies[-1] + 1
    assert storage_of(plan, inside, -1) == storage_of(plan, reader, 0)
    order = [*range(inside), reader, inside, *range(reader + 1, len(plan.steps))]
    plan.steps = [plan.steps[i] for i in order]
    assert "has read" in refused(plan, [versions[i] for i in order])


SHAPES: dict[str, Callable[[torch.Tensor], Any]] = {
    "stacked": lambda x: torch.stack((x * 2, x + 1, torch.exp(x)), -1) * 3,
    "rolled": lambda x: torch.exp(torch.roll(x * 2, (1, 2), (0, 1))) + 1,
    "empty": lambda x: (torch.exp(x * 2)[:0] * 2, torch.exp(x) * 2),
    "strided": lambda x: torch.cat((torch.exp(x)[::2] * 2, torch.exp(x)[1::2] + 1), 1) + 1,
    "expanded": lambda x: (torch.exp(x[:, :1]) * 2).expand(-1, 4) + torch.exp(x),
}


@pytest.mark.parametrize("name", SHAPES)
def test_right_plans_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, versions = planned(monkeypatch, Function(SHAPES[name]), torch.randn(6, 4))
    check_plan(plan, versions)
    assert plan.steps


def test_dynamic_sizes_are_looked_at_at_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Plan] = []

    def note(plan: Plan, versions: Versions) -> None:
        seen.append(plan)
        check_plan(plan, versions)

    monkeypatch.setattr(backend, "check_plan", note)
    rows = torch.export.Dim("rows", min=2, max=9)
    lower(
        Function(lambda x: torch.softmax(torch.cat((x * 2, torch.exp(x))), 0)),
        (torch.randn(4, 3),),
        dynamic_shapes={"inputs": ({0: rows},)},
    )
    (plan,) = seen
    whole = max(of_arena(plan), key=lambda index: plan.storages[index].bytes)
    assert plan.storages[whole].bytes == 2 * 9 * 3 * 4
    plan.storages[whole].bytes -= 3 * 4
    assert "is not within" in refused(plan, [[0] * len(values_of(step)) for step in plan.steps])
