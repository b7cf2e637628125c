"""Events of ExecuTorch's Inspector: the merge of runs and steps, and the fields of events."""

from __future__ import annotations

import pytest
import torch

from rushlight.compat.inspector.events import Event, EventBlock, PerfData
from rushlight.compat.inspector.graphs import OperatorNode
from rushlight.compat.inspector.signatures import (
    EventSignature,
    InstructionEvent,
    InstructionEventSignature,
    ProfileEventSignature,
)
from rushlight.devtools.etdump import schema_flatcc as dump
from rushlight.devtools.inspector.perf import TimeScale
from rushlight.format.program import ScalarType


def timed(name: str, index: int, start: int, end: int, step: int | str | None = None) -> dump.Event:
    number, text = (step, "") if isinstance(step, int) else (-1, step or "")
    event = dump.ProfileEvent(name, 0, index, number, text, None, start_time=start, end_time=end)
    return dump.Event(event, None, None)


def recorded(name: str, index: int, size: int, offset: int, is_output: bool = False) -> dump.Event:
    value = dump.Value(
        dump.ValueType.TENSOR,
        dump.Tensor(ScalarType.INT, [size], [1], offset),
        None,
        None,
        None,
        None,
        None,
        dump.Bool(True) if is_output else None,
    )
    return dump.Event(None, None, dump.DebugEvent(name, 0, index, -1, "", value))


def a_dump(*runs: list[dump.Event]) -> dump.ETDumpFlatCC:
    return dump.ETDumpFlatCC(0, [dump.RunData("run", -1, [], events) for events in runs])


BUFFER = torch.tensor([7, 8, 7, 9], dtype=torch.int32).numpy().tobytes()


def test_runs_with_equal_events_are_one_block() -> None:
    first = [timed("add", 0, 0, 1000), timed("step", 1, 0, 2000, 5), recorded("add", 0, 1, 0)]
    second = [timed("add", 0, 0, 3000), timed("step", 1, 0, 4000, 5), recorded("add", 0, 1, 8)]
    blocks = EventBlock._gen_from_etdump(
        a_dump(first, second, first[:1]), TimeScale.NS, TimeScale.US, output_buffer=BUFFER
    )
    assert [(block.runs, len(block.events)) for block in blocks] == [(2, 2), (1, 1)]
    add, step = blocks[0].events
    assert (add.name, add.is_delegated_op, add.perf_data) == ("add", False, PerfData([1.0, 3.0]))
    assert add.debug_data[0].tolist() == [7]
    assert (step.name, step.step_name, step.delegate_debug_identifier) == ("5", "step", 5)
    assert step.perf_data == PerfData([2.0, 4.0])
    assert add != step


def test_the_converter_reads_the_times_of_delegates_alone() -> None:
    seen = []

    def convert(identifier: str, ticks: int) -> float:
        seen.append(identifier)
        return ticks / 10

    events = [timed("add", 0, 0, 100), timed("", 1, 100, 200, "conv")]
    add, conv = EventBlock._gen_from_etdump(
        a_dump(events), TimeScale.NS, TimeScale.NS, delegate_time_scale_converter=convert
    )[0].events
    assert (add.perf_data, conv.perf_data) == (PerfData([100.0]), PerfData([10.0]))
    assert seen == ["conv", "conv"]


def test_values_of_two_runs_must_agree() -> None:
    with pytest.raises(AssertionError, match="add recorded different values"):
        EventBlock._gen_from_etdump(
            a_dump([recorded("add", 0, 1, 0)], [recorded("add", 0, 1, 4)]), output_buffer=BUFFER
        )
    with pytest.raises(AssertionError, match="value 0"):
        EventBlock._gen_from_etdump(
            a_dump([recorded("", 0, 1, 0, True)], [recorded("", 0, 1, 12, True)]), output_buffer=BUFFER
        )
    block = EventBlock._gen_from_etdump(a_dump([recorded("", 0, 2, 0, True)]))[0]
    assert block.run_output is not None and block.run_output[0].tolist() == [0, 0]  # no buffer: zeros


def test_a_clock_of_32_bits_may_start_again() -> None:
    assert Event._calculate_elapsed_time(2**32 - 1, 9) == 10
    with pytest.raises(ValueError, match="only a 32-bit clock"):
        Event._calculate_elapsed_time(2**33, 9)


def test_an_instruction_has_one_timed_event() -> None:
    event = timed("a", 0, 0, 1).profile_event
    assert event is not None
    twice = InstructionEvent(InstructionEventSignature(0, 0), [event, event])
    with pytest.raises(ValueError, match="2 timed events"):
        Event._gen_from_inference_events(EventSignature(0, ProfileEventSignature("a", 0)), [twice])


def test_handles_come_from_the_instruction_or_the_step() -> None:
    names = [(0, None), (1, None), (1, 10), (1, "conv (3)"), (2, 7), (9, None)]
    events = [
        Event("DELEGATE_CALL" if (i, s) == (1, None) else "e", _instruction_id=i, delegate_debug_identifier=s)
        for i, s in names
    ]
    steps = {10: (4, 5), "conv": (6,)}
    block = EventBlock("b", list(events))
    block._gen_resolve_debug_handles(
        {"0": [1], "1": [2, 3], "2": [8]}, {"1": {"name": "X", "delegate_map": steps}}, {"1": 2}
    )
    assert [event.debug_handles for event in events] == [[1], [2, 3], (4, 5), (6,), [8], None]
    assert [event.delegate_backend_name for event in events] == [None, "X", "X", "X", None, None]
    assert [event.num_outputs for event in events] == [1, 2, 2, 2, 1, 1]


def test_operators_of_the_handles_are_added_once() -> None:
    node = OperatorNode("n", metadata={"stack_trace": "line", "nn_module_stack": {"m": ("m", "M")}}, op="add")
    event = Event("add", debug_handles=[1, 2])
    event._associate_with_op_graph_nodes({1: [node], 3: [node]})
    assert (event.op_types, event.stack_traces) == (["add"], {"n": "line"})
    assert event.module_hierarchy == {"n": {"m": ("m", "M")}}
    framework = Event("Method::execute", debug_handles=1)
    framework._associate_with_op_graph_nodes({1: [node]})
    assert framework.op_types == []
