"""The Inspector: times of runs by operators, modules and lines; filters, tables, traces, values."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from torch.export import export

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.compiler.edge import to_edge, to_edge_transform_and_lower
from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etdump import ETDumpFlatCC, serialize_to_etdump_flatcc
from rushlight.devtools.etdump import schema_flatcc as s
from rushlight.devtools.etrecord import ETRecord
from rushlight.devtools.inspector import (
    Inspector,
    PerfData,
    TimeScale,
    change_table,
    compare_results,
    compare_values,
    what_got_slower,
)
from rushlight.devtools.inspector.chrome_trace import trace_events
from rushlight.devtools.inspector.numerical_comparator import (
    CosineComparator,
    IntermediateOutputMapping,
    L1Comparator,
    MaxComparator,
    MSEComparator,
    NumericalComparatorBase,
    SNRComparator,
)
from rushlight.format.program import DelegateCall, KernelCall, ScalarType


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.lin(x))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(self.second(self.first(x)))


INPUT = torch.linspace(-1, 1, 12).reshape(3, 4)


class Recorded:
    """A program, its ETRecord, and dumps in the form in which the runtime writes them."""

    def __init__(self, delegated: bool = False) -> None:
        torch.manual_seed(0)
        self.program = export(Net(), (INPUT,))
        partitioner = [CpuPartitioner()] if delegated else None
        edge = to_edge_transform_and_lower(self.program, partitioner=partitioner, generate_etrecord=True)
        self.manager = edge.to_executorch()
        self.record: ETRecord = self.manager.get_etrecord()
        self.values: list[s.Event] = []
        self.buffer = bytearray()

    def run(self, scale: int = 1) -> s.RunData:
        """Adds a run in which instruction i takes (i + 1) * 1000 * scale ns, with the recorded values."""
        events: list[s.Event] = []
        now = 1_000_000
        plan = self.manager.executorch_program.execution_plan[0]
        for index, instruction in enumerate(plan.chains[0].instructions):
            call = instruction.instr_args
            start, end = now, now + (index + 1) * 1000 * scale
            if isinstance(call, KernelCall):
                operator = plan.operators[call.op_index]
                name = f"native_call_{operator.name.partition('::')[2]}.{operator.overload}"
                events.append(profile(name, index, start, end))
                events.append(profile("OPERATOR_CALL", index, start - 5, end + 5))
            elif isinstance(call, DelegateCall):
                _, steps = self.record.delegates_of("forward")[index]
                for place, key in enumerate(steps):
                    begin = start + place * 100
                    events.append(profile("Gemm", index, begin, begin + 50 * scale, int(key)))
                events.append(profile("DELEGATE_CALL", index, start, end))
            now = end
        events.append(profile("Method::execute", -1, 1_000_000, now))
        return s.RunData("forward", -1, None, [*self.values, *events])

    def dump(self, runs: Sequence[int] = (1, 2, 3), fingerprint: int = 0, dropped: int = 0) -> bytes:
        dump = ETDumpFlatCC(0, [self.run(scale) for scale in runs], dropped, fingerprint)
        return serialize_to_etdump_flatcc(dump, size_prefixed=True)

    def record_values(self, values: dict[int, torch.Tensor], instruction: int | None = None) -> None:
        """Records values by instruction, or by the identifiers of steps in a delegate call."""
        for key, value in values.items():
            place = (key, -1) if instruction is None else (instruction, key)
            tensor = s.Tensor(ScalarType.FLOAT, list(value.shape), list(value.stride()), len(self.buffer))
            entry = s.Value(s.ValueType.TENSOR, tensor)
            event = s.DebugEvent("", 0, place[0], place[1], None, entry)
            self.values.append(s.Event(None, None, event))
            self.buffer += value.detach().numpy().tobytes()

    def inspect(self, **options: Any) -> Inspector:
        return Inspector(
            etdump_data=self.dump(), etrecord=self.record, debug_buffer=bytes(self.buffer), **options
        )


def profile(name: str, instruction: int, start: int, end: int, number: int = -1) -> s.Event:
    return s.Event(s.ProfileEvent(name, 0, instruction, number, None, None, start, end), None, None)


@pytest.fixture(scope="module")
def kernels() -> Recorded:
    return Recorded()


@pytest.fixture(scope="module")
def delegated() -> Recorded:
    return Recorded(delegated=True)


def test_times_over_runs() -> None:
    perf = PerfData([1.0, 2.0, 3.0, 4.0, 10.0])
    assert (perf.min, perf.max, perf.avg, perf.mean, perf.p50) == (1.0, 10.0, 4.0, 4.0, 3.0)
    assert perf.p10 == pytest.approx(np.percentile(perf.raw, 10)) and perf.p90 == pytest.approx(7.6)
    assert perf.cv == pytest.approx(np.std(perf.raw) / 4.0)
    assert PerfData([0.0, 0.0]).cv == 0.0


def test_events_are_tied_to_operators_modules_and_lines(kernels: Recorded) -> None:
    inspector = kernels.inspect(target_time_scale=TimeScale.US)
    (block,) = inspector.event_blocks
    assert block.runs == 3
    (sin,) = inspector.find_events(operator="sin")
    assert sin.name == "native_call_sin.out" and sin.op_types == ["aten.sin.default"]
    assert sin.module_paths == [] and sin.lines[0].startswith(__file__)
    assert sin.operators[0].code == "return torch.sin(self.second(self.first(x)))"
    assert sin.perf_data is not None and sin.instruction is not None
    one = sin.instruction + 1.0
    assert list(sin.perf_data.raw) == [one, 2 * one, 3 * one]
    relus = inspector.find_events(operator="relu")
    assert [event.module_paths for event in relus] == [["first"], ["second"]]
    assert relus[0].lines == relus[1].lines and "relu" in relus[0].operators[0].code
    inside = inspector.find_events(module="first")
    assert {path for event in inside for path in event.module_paths} == {"first", "first.lin"}
    assert inspector.find_total_for_module("second") == pytest.approx(
        sum(event.perf_data.avg for event in inspector.find_events(module="second") if event.perf_data)
    )


def test_steps_inside_a_delegate(delegated: Recorded) -> None:
    inspector = delegated.inspect()
    steps = [event for event in inspector.events() if event.is_delegated_op]
    assert steps and all(step.delegate_backend_name == "CpuBackend" for step in steps)
    assert {op for step in steps for op in step.op_types} >= {"aten.relu.default"}
    assert {path for step in steps for path in step.module_paths} >= {"first", "second"}
    assert all(step.lines for step in steps)
    (call,) = [event for event in inspector.events() if event.name == "DELEGATE_CALL"]
    assert len(call.op_types) >= len(steps)


def test_outputs(kernels: Recorded, tmp_path: Path) -> None:
    inspector = kernels.inspect()
    table, part, lines = io.StringIO(), io.StringIO(), io.StringIO()
    inspector.print_data_tabular(table)
    assert "native_call_sin.out" in table.getvalue() and "p90 (ms)" in table.getvalue()
    assert "OPERATOR_CALL" not in table.getvalue() and f"{__file__}:" in table.getvalue()
    inspector.print_data_tabular(part, include_units=False, operator="relu")
    assert part.getvalue().count("native_call") == 2 and "p90 (ms)" not in part.getvalue()
    inspector.save_data_to_tsv(lines)
    assert len(lines.getvalue().splitlines()) == 1 + len(inspector.rows())
    binary = io.BytesIO()
    inspector.save_data_to_tsv(binary)
    assert binary.getvalue().decode() == lines.getvalue()
    inspector.save_data_to_tsv(tmp_path / "events.tsv")
    assert (tmp_path / "events.tsv").read_text() == lines.getvalue()
    frame = inspector.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(inspector.rows())
    assert "avg (ms)" in frame.columns and "avg" in inspector.to_dataframe(include_units=False).columns


def test_programs_of_the_record(kernels: Recorded) -> None:
    inspector = kernels.inspect()
    assert inspector.get_exported_program() is kernels.record.edge_dialect_program
    assert inspector.get_exported_program("none") is None
    with pytest.warns(UserWarning, match="ETRecord"):
        assert Inspector(etdump_data=kernels.dump()).get_exported_program() is None


def test_chrome_trace(delegated: Recorded, tmp_path: Path) -> None:
    inspector = delegated.inspect()
    inspector.save_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["traceEvents"] == trace_events(inspector.event_blocks)
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(spans) == sum(len(event.start_time or ()) for event in inspector.events())
    for span in spans:
        assert {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"} == set(span)
        assert isinstance(span["name"], str) and span["ts"] >= 0 and span["dur"] >= 0
    names = {event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    assert names == {"instructions", "steps inside delegates"}
    whole = next(span for span in spans if span["name"] == "Method::execute")
    assert whole["dur"] == pytest.approx(
        sum(
            (index + 1)
            for index in range(
                len(delegated.manager.executorch_program.execution_plan[0].chains[0].instructions)
            )
        )
    )


def traced_inspector(folder: Path) -> Inspector:
    """Returns the Inspector of twenty real runs."""
    program = rushlight.compile(Net(), (INPUT,), generate_etrecord=True)
    module = rushlight.load(program, enable_etdump=True)
    for _ in range(20):
        module(INPUT)
    module.write_etdump_result_to_file(folder / "model.etdp")
    return Inspector(folder / "model.etdp", etrecord=program.get_etrecord())


def test_the_schema_of_perfetto_reads_a_trace(tmp_path: Path) -> None:
    """The packets have no unknown field, and their slices are those of the JSON trace."""
    inspector = traced_inspector(tmp_path)
    inspector.save_trace(tmp_path / "run.pftrace")
    trace = perfetto_trace_pb2.Trace.FromString((tmp_path / "run.pftrace").read_bytes())
    assert list(unknown_fields(trace)) == []
    assert trace.packet[0].sequence_flags == trace.packet[0].SEQ_INCREMENTAL_STATE_CLEARED
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}
    tracks = {
        p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")
    }
    threads = {uuid: track.thread for uuid, track in tracks.items() if track.HasField("thread")}
    assert {thread.thread_name for thread in threads.values()} == {"instructions", "steps inside delegates"}
    for uuid, thread in threads.items():
        assert tracks[tracks[uuid].parent_uuid].process.pid == thread.pid
    found = []
    open_slices: dict[int, list[tuple[int, Any]]] = {uuid: [] for uuid in threads}
    latest = dict.fromkeys(threads, 0)
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event, uuid = packet.track_event, packet.track_event.track_uuid
        assert packet.timestamp >= latest[uuid]
        latest[uuid] = packet.timestamp
        if event.type == event.TYPE_SLICE_BEGIN:
            open_slices[uuid].append((packet.timestamp, event))
        else:
            assert event.type == event.TYPE_SLICE_END
            start, begun = open_slices[uuid].pop()
            arguments = {item.name: annotated(item) for item in begun.debug_annotations}
            facts = (begun.name, *begun.categories, threads[uuid].tid, start, packet.timestamp - start)
            found.append((*facts, json.dumps(arguments, sort_keys=True)))
    assert not any(open_slices.values())
    wanted = [
        (
            event["name"],
            event["cat"],
            event["tid"],
            round(event["ts"] * 1000),
            round((event["ts"] + event["dur"]) * 1000) - round(event["ts"] * 1000),
            json.dumps(event["args"], sort_keys=True),
        )
        for event in trace_events(inspector.event_blocks)
        if event["ph"] == "X"
    ]
    assert sorted(found) == sorted(wanted)


def annotated(item: Any) -> Any:
    """Returns the value of a debug annotation."""
    if item.array_values:
        return [annotated(value) for value in item.array_values]
    return getattr(item, item.WhichOneof("value"))


def unknown_fields(message: Any) -> Iterator[str]:
    """Returns the numbers of unknown fields in a message and its submessages."""
    yield from (f"{message.DESCRIPTOR.name}: {item.field_number}" for item in UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from unknown_fields(part)


def test_the_ending_of_a_trace_says_its_kind(delegated: Recorded, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"trace\.txt: the name of a trace must end with \.json or \.pftrace"
    ):
        delegated.inspect().save_trace(tmp_path / "trace.txt")
    assert not (tmp_path / "trace.txt").exists()


def test_what_got_slower(kernels: Recorded) -> None:
    before = Inspector(etdump_data=kernels.dump((1,)), etrecord=kernels.record)
    after = Inspector(etdump_data=kernels.dump((4,)), etrecord=kernels.record)
    changes = what_got_slower(before, after)
    assert changes[0].difference == max(change.difference for change in changes)
    assert all(change.ratio == pytest.approx(4) for change in changes)
    assert any(change.module == "first" and "relu" in change.name for change in changes)
    assert "4.00" in change_table(changes)
    with pytest.raises(ValueError, match="one unit"):
        what_got_slower(before, Inspector(etdump_data=kernels.dump(), target_time_scale=TimeScale.US))


def test_a_clock_of_32_bits_that_starts_again() -> None:
    run = s.RunData("forward", -1, None, [profile("Method::execute", -1, 2**32 - 500, 500)])
    data = serialize_to_etdump_flatcc(ETDumpFlatCC(0, [run]), size_prefixed=True)
    (event,) = Inspector(etdump_data=data, target_time_scale=TimeScale.NS).events()
    assert event.perf_data is not None and event.perf_data.raw == [1000]


@pytest.mark.parametrize(
    ("comparator", "expected"),
    [
        (MSEComparator(), 2.5),
        (L1Comparator(), 3.0),
        (MaxComparator(), 2.0),
        (SNRComparator(), 10 * np.log10(12.5 / 2.5)),
        (CosineComparator(), 1 - 14 / (5 * np.sqrt(8.0))),
    ],
)
def test_distances(comparator: NumericalComparatorBase, expected: float) -> None:
    distance = comparator.element_compare(torch.tensor([3.0, 4.0]), torch.tensor([2.0, 2.0]))
    assert distance == pytest.approx(expected)
    with pytest.raises(ValueError, match="not a str"):
        comparator.element_compare("a", torch.ones(1))


def right_values(recorded: Recorded) -> dict[int, torch.Tensor]:
    """Returns the values that the kernels of the program compute, by instruction."""
    values = {}
    names = {
        handle: index
        for index, handles in recorded.record.handles_of("forward").items()
        for handle in handles
    }
    x = INPUT
    net: Any = recorded.program.module()
    for node in recorded.record.edge_programs["forward"].graph.nodes:
        if node.op == "call_function" and ("relu" in node.name or "sin" in node.name):
            block = net.first if "first" in str(node.meta["nn_module_stack"]) else net.second
            x = (
                torch.sin(x)
                if "sin" in node.name
                else torch.relu(torch.nn.functional.linear(x, block.lin.weight, block.lin.bias))
            )
            values[names[node.meta["debug_handle"]]] = x
    return values


def test_numeric_gaps() -> None:
    recorded = Recorded()
    recorded.record_values(right_values(recorded))
    inspector = recorded.inspect()
    for distance in ("MSE", "l1", "max", "cosine"):
        assert all(gap.distance == pytest.approx(0, abs=1e-6) for gap in inspector.numeric_gaps(distance))
    assert all(gap.distance > 100 for gap in inspector.numeric_gaps("SNR"))
    with pytest.raises(ValueError, match="Unsupported distance metric 'none'"):
        inspector.numeric_gaps("none")
    frame = inspector.calculate_numeric_gap("MSE", reference_graph="edge_dialect_exported_program")
    assert {"aot_ops", "runtime_ops", "gap", "stacktraces"} <= set(frame.columns) and len(frame) == 3


def test_a_comparator_of_the_user() -> None:
    class Halved(NumericalComparatorBase):
        def preprocessing(self, mapping: IntermediateOutputMapping) -> IntermediateOutputMapping:
            return {key: (handles, value / 2) for key, (handles, value) in mapping.items()}

        def element_compare(self, a: Any, b: Any) -> float:
            return float((a / 2 - b).abs().max())

    recorded = Recorded()
    recorded.record_values(right_values(recorded))
    inspector = recorded.inspect()
    comparator = Halved()
    assert all(gap.distance < 1e-6 for gap in inspector.numeric_gaps(comparator))
    assert comparator.inspector is inspector


def test_the_first_departure_is_named() -> None:
    recorded = Recorded()
    values = right_values(recorded)
    second = sorted(values)[1]
    values |= {index: value + 0.5 for index, value in values.items() if index >= second}
    recorded.record_values(values)
    comparison = compare_values(recorded.inspect())
    assert len(comparison.steps) == 3 and comparison.first is comparison.steps[1]
    text = comparison.first.describe()
    assert "aten.relu.default" in text and "[module second]" in text and f"{__file__}:" in text
    assert "<<" in comparison.table()
    assert comparison.asdict()["first_departure"]["instruction"] == second
    assert compare_values(recorded.inspect(), tolerance=10.0).first is None


def test_values_of_steps_with_one_identifier() -> None:
    """Each value belongs to the preceding step. The first of two steps for one operator has two results."""

    def value(numel: int) -> s.Event:
        entry = s.Value(s.ValueType.TENSOR, s.Tensor(ScalarType.FLOAT, [numel], [1], 0))
        return s.Event(None, None, s.DebugEvent("", 0, 0, 7, None, entry))

    events = [profile("statistics", 0, 0, 5, 7), value(2), value(3), profile("chain", 0, 5, 9, 7), value(4)]
    dump = ETDumpFlatCC(0, [s.RunData("forward", -1, None, events)])
    data = serialize_to_etdump_flatcc(dump, size_prefixed=True)
    first, second = Inspector(etdump_data=data, debug_buffer=bytes(16)).events()
    assert [tuple(value.shape) for value in first.debug_data] == [(2,), (3,)]
    assert [tuple(value.shape) for value in second.debug_data] == [(4,)]


def test_no_values_and_no_record(kernels: Recorded) -> None:
    with pytest.raises(ValueError, match="record values"):
        kernels.inspect().numeric_gaps("MSE")
    with pytest.raises(ValueError, match="ETRecord"):
        Inspector(etdump_data=kernels.dump()).numeric_gaps("MSE")


def test_results_of_two_runs(capsys: pytest.CaptureFixture[str]) -> None:
    found = compare_results([torch.ones(3)], [torch.full((3,), 1.1)], ["mse", "snr"])
    assert found["mse"][0] == pytest.approx(0.01, rel=1e-3) and found["snr"][0] == pytest.approx(20, rel=1e-3)
    assert "mse" in capsys.readouterr().out
    with pytest.raises(ValueError, match="not known"):
        compare_results([], [], ["p99"])


def test_a_dump_of_another_program_is_refused(kernels: Recorded, delegated: Recorded, tmp_path: Path) -> None:
    dump, record = tmp_path / "its.etdp", tmp_path / "other.etrecord"
    dump.write_bytes(delegated.dump())
    kernels.record.save(record)
    with pytest.raises(DevtoolsError, match="its.etdp does not belong to .*other.etrecord"):
        Inspector(etdump_path=dump, etrecord=record)
    dump.write_bytes(kernels.dump(fingerprint=12345))
    with pytest.raises(DevtoolsError, match="its.etdp does not belong to .*other.etrecord.*fingerprint"):
        Inspector(etdump_path=dump, etrecord=record)
    dump.write_bytes(kernels.dump(fingerprint=kernels.record.program_fingerprint))
    Inspector(etdump_path=dump, etrecord=str(record))


def test_damaged_dumps_are_refused(kernels: Recorded, tmp_path: Path) -> None:
    data = kernels.dump()
    path = tmp_path / "bad.etdp"
    for damaged in (b"", data[:50], b"x" * len(data), data[:8] + b"XXXX" + data[12:]):
        path.write_bytes(damaged)
        with pytest.raises(DevtoolsError, match="bad.etdp cannot be read"):
            Inspector(etdump_path=path)


def test_values_outside_of_the_buffer_are_refused(kernels: Recorded) -> None:
    recorded = Recorded()
    recorded.record_values(right_values(recorded))
    with pytest.raises(DevtoolsError, match="do not belong together"):
        Inspector(etdump_data=recorded.dump(), debug_buffer=bytes(recorded.buffer[:20]))


def test_dropped_events_are_told(kernels: Recorded) -> None:
    with pytest.warns(UserWarning, match="lacks 7 events"):
        Inspector(etdump_data=kernels.dump(dropped=7))


def test_wrong_use(kernels: Recorded) -> None:
    with pytest.raises(ValueError, match="exactly one"):
        Inspector()
    with pytest.raises(ValueError, match="cycles"):
        Inspector(etdump_data=kernels.dump(), source_time_scale=TimeScale.CYCLES)
    with pytest.raises(TypeError, match="not int"):
        Inspector(etdump_data=kernels.dump(), etrecord=3)  # type: ignore[arg-type]


def test_to_edge_has_a_record_too() -> None:
    record = to_edge(export(Net(), (INPUT,)), generate_etrecord=True).to_executorch().get_etrecord()
    assert record.program_fingerprint


def test_slices_of_a_real_trace_nest(tmp_path: Path) -> None:
    """Trace viewers ignore a slice that starts inside another slice of its thread and ends after it."""
    traced_inspector(tmp_path).save_trace(tmp_path / "trace.json")
    spans: dict[int, list[tuple[float, float]]] = {}
    for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]:
        if event["ph"] == "X":
            spans.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    assert {thread: len(found) > 20 for thread, found in spans.items()} == {1: True, 2: True}
    for found in spans.values():
        open_until: list[float] = []
        for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= start + 1e-3:  # times are rounded to nanoseconds
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 1e-3
            open_until.append(end)


@pytest.mark.parametrize("comparator", [MSEComparator, L1Comparator, SNRComparator])
def test_tensors_of_different_shapes_are_not_compared(comparator: Any) -> None:
    with pytest.raises(ValueError, match=r"shapes \(3,\) and \(4,\)"):
        comparator().element_compare(torch.ones(3), torch.ones(4))
