"""Groups runs of an ETDump that have the same events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from rushlight.devtools.etdump.schema_flatcc import DebugEvent, ETDumpFlatCC, ProfileEvent, RunData
from rushlight.devtools.inspector.operators import Operator, without_conversions
from rushlight.devtools.inspector.perf import PerfData, TimeScale, elapsed, ratio
from rushlight.devtools.inspector.values import inflate
from rushlight.ir.json_types import JsonObject

if TYPE_CHECKING:
    from pandas import DataFrame

MetadataParser: TypeAlias = Callable[[list[Any]], Any]
TimeConverter: TypeAlias = Callable[[Any, Any], Any]

FRAMEWORK_EVENTS = frozenset(
    ("OPERATOR_CALL", "DELEGATE_CALL", "Method::execute", "Method::init", "Program::load_method")
)
"""The names of events of the runtime itself. They contain the events of operators and delegate steps."""

_UNITS = ("p10", "p50", "p90", "avg", "min", "max")


@dataclass(eq=False)
class Event:
    """An operator, a step inside a delegate, or an event of the runtime itself.

    Attributes:
        name: the name of the event; the identifier of a step inside a delegate.
        perf_data: the times of the event, or None if only values were recorded.
        op_types: the names of the edge operators that the event computes, such as "aten.add.Tensor".
        delegate_debug_identifier: the identifier of a step from its backend, or None.
        debug_handles: the debug handles of the event's operators.
        num_outputs: the number of results of a delegate call.
        stack_traces: the stack trace of each operator, by node name.
        module_hierarchy: the modules of each operator, outermost first, by node name.
        is_delegated_op: whether the event is a step inside a delegate.
        delegate_backend_name: the backend of a delegate call or delegate step.
        debug_data: the recorded results.
        operators: the operators, with module path and source line of the model.
        step_name: the name of the step as recorded by the runtime.
    """

    name: str
    perf_data: PerfData | None = None
    op_types: list[str] = field(default_factory=list)
    delegate_debug_identifier: int | str | None = None
    debug_handles: int | Sequence[int] | None = None
    num_outputs: int = 1
    stack_traces: dict[str, str | None] = field(default_factory=dict)
    module_hierarchy: dict[str, JsonObject] = field(default_factory=dict)
    is_delegated_op: bool | None = None
    delegate_backend_name: str | None = None
    _delegate_debug_metadatas: list[Any] = field(default_factory=list)
    debug_data: list[Any] = field(default_factory=list)
    _instruction_id: int | None = None
    _delegate_metadata_parser: MetadataParser | None = None
    _start_time: list[int | float] | None = None
    operators: list[Operator] = field(default_factory=list)
    step_name: str = ""

    @property
    def instruction(self) -> int | None:
        """The index of the instruction in its chain, or None."""
        return self._instruction_id

    @property
    def start_time(self) -> list[int | float] | None:
        """The start time of the event in each run, in ticks of the runtime's clock."""
        return self._start_time

    @property
    def raw_delegate_debug_metadatas(self) -> list[Any]:
        """The metadata bytes that the backend recorded in each run."""
        return self._delegate_debug_metadatas

    @property
    def delegate_debug_metadatas(self) -> Any:
        """The metadata that the backend recorded, converted by the parser that the inspector was given."""
        if not self.is_delegated_op or self._delegate_metadata_parser is None:
            return self._delegate_debug_metadatas
        return self._delegate_metadata_parser(self._delegate_debug_metadatas)

    @property
    def is_framework(self) -> bool:
        """Whether this is an event of the runtime itself."""
        return self.name in FRAMEWORK_EVENTS

    @property
    def computed(self) -> Sequence[Operator]:
        """The operators without conversions between float and quantized values, if there are others."""
        return without_conversions(self.operators)

    @property
    def module_paths(self) -> list[str]:
        """The module paths of the operators in `computed`, without duplicates."""
        return list(dict.fromkeys(operator.module for operator in self.computed if operator.module))

    @property
    def lines(self) -> list[str]:
        """The source lines of the operators in `computed`, as "file:line", without duplicates."""
        return list(dict.fromkeys(operator.line for operator in self.computed if operator.line))

    def asdict(self, _units: str = "") -> JsonObject:
        """Returns the fields by name, as columns of a table.

        Args:
            _units: a text such as " (ms)" that is appended to the names of times.

        Returns:
            The columns. Times are None for an event without times.
        """
        perf = self.perf_data
        return {
            "event_name": self.name,
            "raw": None if perf is None else list(perf.raw),
            **{name + _units: None if perf is None else getattr(perf, name) for name in _UNITS},
            "cv": None if perf is None else perf.cv,
            "op_types": self.op_types,
            "delegate_debug_identifier": self.delegate_debug_identifier,
            "stack_traces": self.stack_traces,
            "module_hierarchy": self.module_hierarchy,
            "modules": self.module_paths,
            "lines": self.lines,
            "is_delegated_op": self.is_delegated_op,
            "delegate_backend_name": self.delegate_backend_name,
            "debug_data": self.debug_data,
            "start_time": self._start_time,
        }

    def to_dataframe(self, _units: str = "") -> DataFrame:
        """Returns a table with one row.

        Args:
            _units: a text such as " (ms)" that is appended to the names of times.

        Returns:
            A pandas DataFrame.

        Raises:
            ImportError: pandas is not installed.
        """
        return dataframe([self.asdict(_units)])


@dataclass(eq=False)
class EventBlock:
    """A group of runs with the same events.

    Attributes:
        name: the name of the block in the ETDump.
        events: the events in the order in which they were recorded.
        source_time_scale, target_time_scale: the units of the runtime's clock and of the displayed times.
        bundled_input_index: the test case of a bundled program that provided the inputs, or None.
        run_output: the recorded outputs of the method.
        reference_output: the expected outputs from the ETRecord.
        runs: the number of runs.
        method: the name of the method; "" if the ETDump does not say it, as in ETDumps of ExecuTorch.
        share: the number of runs, divided by the runs of all blocks with the same name and method.
    """

    name: str
    events: list[Event] = field(default_factory=list)
    source_time_scale: TimeScale = TimeScale.NS
    target_time_scale: TimeScale = TimeScale.MS
    bundled_input_index: int | None = None
    run_output: list[Any] | None = None
    reference_output: list[Any] | None = None
    runs: int = 0
    method: str = ""
    share: float = 1.0

    def rows(self, include_units: bool = False) -> list[JsonObject]:
        """Returns one dict of columns for each event.

        Args:
            include_units: append the unit of times to the names of columns, as in "avg (ms)".

        Returns:
            The rows in the order of the events. The column "event_block_name" has the name of the block.
        """
        units = f" ({self.target_time_scale.value})" if include_units else ""
        return [{"event_block_name": self.name, **event.asdict(units)} for event in self.events]

    def to_dataframe(
        self, include_units: bool = False, include_delegate_debug_data: bool = False
    ) -> DataFrame:
        """Returns a pandas DataFrame with one row for each event. This needs pandas.

        Args:
            include_units: append the unit of times to the names of columns.
            include_delegate_debug_data: add columns with the metadata that backends recorded.
        """
        rows = self.rows(include_units)
        if include_delegate_debug_data:
            for row, event in zip(rows, self.events, strict=True):
                found = event.delegate_debug_metadatas
                row.update(found if isinstance(found, dict) else {"delegate_debug_metadata": found or None})
        return dataframe(rows)


def dataframe(rows: Iterable[Mapping[str, object]]) -> DataFrame:
    """Returns a pandas DataFrame of rows.

    Args:
        rows: a dict of columns for each row.

    Returns:
        The table. If a row has no value for a column, the table has NaN there.

    Raises:
        ImportError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "a DataFrame needs pandas: pip install pandas. The method rows() works without it"
        ) from None
    return pandas.DataFrame(list(rows))


_Place: TypeAlias = tuple[int, int, int, str]
"""The chain and instruction of an event, and the number and name of its delegate step."""


@dataclass(frozen=True)
class _Key:
    """Identifies an event in a run. `occurrence` distinguishes events with equal other fields."""

    name: str
    chain: int
    instruction: int
    number: int
    text: str
    occurrence: int = 0

    @property
    def place(self) -> _Place:
        return self.chain, self.instruction, self.number, self.text


def _key(event: ProfileEvent | DebugEvent) -> _Key:
    number = -1 if event.delegate_debug_id_int is None else event.delegate_debug_id_int
    return _Key(
        event.name or "", event.chain_index, event.instruction_id, number, event.delegate_debug_id_str or ""
    )


@dataclass
class _Run:
    """The events of one run.

    Attributes:
        times: the profile events.
        values: the recorded values by place.
        owners: for each value in `values`, the last profile event at its place before it, or None.
        outputs: the recorded outputs of the method.
    """

    times: dict[_Key, ProfileEvent]
    values: dict[_Place, list[DebugEvent]]
    owners: dict[_Place, list[_Key | None]]
    outputs: list[DebugEvent]

    def values_of(self, key: _Key) -> list[DebugEvent]:
        """Returns the values that were recorded for an event.

        Delegate steps at the same place are distinguished by their order: Rushlight records the values of a
        step directly after its time. In dumps with another order, and for instructions that a loop repeats,
        each event has the same number of values, if this is possible.
        """
        values, owners = self.values.get(key.place, []), self.owners.get(key.place, [])
        if key.number >= 0 and None not in owners:
            return [value for value, owner in zip(values, owners, strict=True) if owner == key]
        events = [
            other
            for other in self.times
            if other.place == key.place and (key.number >= 0 or other.name == key.name)
        ]
        if len(values) % len(events):
            return values
        count, first = len(values) // len(events), events.index(key)
        return values[first * count :][:count]


def _read(run: RunData) -> _Run:
    seen: Counter[_Key] = Counter()
    latest: dict[_Place, _Key] = {}
    result = _Run({}, {}, {}, [])
    for event in run.events or ():
        if event.profile_event is not None:
            key = _key(event.profile_event)
            numbered = _Key(*_fields(key), occurrence=seen[key])
            seen[key] += 1
            result.times[numbered] = event.profile_event
            latest[key.place] = numbered
        elif event.debug_event is not None:
            entry = event.debug_event.debug_entry
            if entry.output is not None and entry.output.bool_val:
                result.outputs.append(event.debug_event)
            else:
                place = _key(event.debug_event).place
                result.values.setdefault(place, []).append(event.debug_event)
                result.owners.setdefault(place, []).append(latest.get(place))
    return result


def _fields(key: _Key) -> tuple[str, int, int, int, str]:
    return key.name, key.chain, key.instruction, key.number, key.text


def blocks_of(
    dump: ETDumpFlatCC,
    source: TimeScale,
    target: TimeScale,
    buffer: bytes | None,
    parser: MetadataParser | None = None,
    converter: TimeConverter | None = None,
) -> list[EventBlock]:
    """Groups the runs of a dump that have the same events.

    Args:
        dump: the ETDump.
        source, target: the units of the runtime's clock and of the results.
        buffer: the debug buffer with the values; None means that tensors are not read.
        parser: a function that converts the metadata that backends recorded with their steps, or None.
        converter: a function from identifier and time in a delegate to time in the unit of the results, or
            None.

    Returns:
        A block for each group of runs with the same events.
    """
    groups: dict[tuple[Any, ...], list[_Run]] = {}
    for run in dump.run_data:
        found = _read(run)
        if found.times or found.values or found.outputs:
            kind = (run.name, run.method or "", run.bundled_input_index)
            groups.setdefault((*kind, tuple(found.times), tuple(found.values)), []).append(found)
    counts: Counter[tuple[str, str]] = Counter()
    for (name, method, *_), runs in groups.items():
        counts[name, method] += len(runs)
    blocks = []
    for (name, method, index, *_), runs in groups.items():
        block = EventBlock(name, [], source, target, None if index in (None, -1) else index)
        block.method, block.runs, block.share = method, len(runs), len(runs) / counts[name, method]
        block.events = _events(runs, ratio(source, target), buffer, parser, converter)
        block.run_output = [inflate(event.debug_entry, buffer) for event in runs[0].outputs]
        blocks.append(block)
    return blocks


def _events(
    runs: Sequence[_Run],
    scale: float,
    buffer: bytes | None,
    parser: MetadataParser | None,
    converter: TimeConverter | None,
) -> list[Event]:
    first = runs[0]
    timed = {key.place for key in first.times}
    events = []
    for key in first.times:
        event = _make(key)
        event._delegate_metadata_parser = parser
        times = [run.times[key] for run in runs]
        event.perf_data = PerfData([_time(event, time, scale, converter) for time in times])
        event._start_time = [time.start_time for time in times]
        metadatas = [time.delegate_debug_metadata or "" for time in times]
        event._delegate_debug_metadatas = metadatas if any(metadatas) else []
        event.debug_data = [inflate(value.debug_entry, buffer) for value in first.values_of(key)]
        events.append(event)
    for place, values in first.values.items():
        if place not in timed:
            event = _make(_Key(values[0].name or "", *place))
            event.debug_data = [inflate(value.debug_entry, buffer) for value in values]
            events.append(event)
    return events


def _make(key: _Key) -> Event:
    identifier: int | str | None = key.number if key.number != -1 else key.text or None
    return Event(
        key.name if identifier is None else str(identifier),
        delegate_debug_identifier=identifier,
        is_delegated_op=identifier is not None,
        _instruction_id=None if key.instruction == -1 else key.instruction,
        step_name=key.name,
    )


def _time(event: Event, time: ProfileEvent, scale: float, converter: TimeConverter | None) -> float:
    if event.is_delegated_op and converter is not None:
        start, end = (converter(event.name, ticks) for ticks in (time.start_time, time.end_time))
        return float(end - start)
    return elapsed(time.start_time, time.end_time) / scale
