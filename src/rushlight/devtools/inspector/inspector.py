"""The Inspector connects the events of an ETDump with the operators and source lines of an ETRecord."""

from __future__ import annotations

import json
import os
import struct
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etdump.schema_flatcc import ETDumpFlatCC
from rushlight.devtools.etdump.serialize import deserialize_from_etdump_flatcc
from rushlight.devtools.inspector.events import (
    Event,
    EventBlock,
    MetadataParser,
    TimeConverter,
    blocks_of,
    dataframe,
)
from rushlight.devtools.inspector.operators import Operator, base_name, look_up, operators_of
from rushlight.devtools.inspector.perf import TimeScale, ratio
from rushlight.files import write_file
from rushlight.ir.json_types import JsonObject
from rushlight.ir.text_table import text_table

if TYPE_CHECKING:
    from pandas import DataFrame

    from rushlight.devtools.etrecord.record import ETRecord
    from rushlight.devtools.inspector.gaps import Gap
    from rushlight.devtools.inspector.numerical_comparator import NumericalComparatorBase

EDGE_DIALECT_GRAPH_KEY = "edge_dialect_graph_module"

TRACE_SUFFIXES = (".json", ".pftrace", ".perfetto-trace")


def check_trace_path(path: str | os.PathLike[str]) -> None:
    """Checks the ending of the path of a trace file. The file need not exist.

    Args:
        path: the path of the file to write.

    Raises:
        ValueError: the ending is not supported. The message lists the supported endings.
    """
    if Path(path).suffix not in TRACE_SUFFIXES:
        raise ValueError(
            f"{os.fspath(path)}: the name of a trace must end with {' or '.join(TRACE_SUFFIXES)}"
        )


class Inspector:
    """The times and values of executed programs, by operator, module and source line.

    Args:
        etdump_path: the path of the ETDump. Give either this or `etdump_data`.
        etdump_data: the bytes of the ETDump.
        etrecord: the ETRecord of the program, or its path. Without it, events have no operators and source
            lines.
        source_time_scale: the unit of the runtime's clock.
        target_time_scale: the unit of all displayed times.
        debug_buffer_path: the file with the recorded values.
        delegate_metadata_parser: a function that converts the metadata that a backend recorded with its
            steps.
        delegate_time_scale_converter: a function from the identifier of a step and a time of the backend to a
            time in `target_time_scale`. By default, the times of backends have the unit of the runtime's
            clock.
        debug_buffer: the recorded values as bytes, instead of `debug_buffer_path`.

    Attributes:
        event_blocks: the events. Runs with the same events are in one block.

    Raises:
        ValueError: both `etdump_path` and `etdump_data` are given, or neither of them; or only one unit is
            cycles.
        DevtoolsError: a file is damaged, or ETDump and ETRecord belong to different programs.
    """

    _HIDDEN: ClassVar[tuple[str, ...]] = (
        "raw",
        "debug_data",
        "stack_traces",
        "module_hierarchy",
        "start_time",
    )

    def __init__(
        self,
        etdump_path: str | os.PathLike[str] | None = None,
        etdump_data: bytes | None = None,
        etrecord: ETRecord | str | os.PathLike[str] | None = None,
        source_time_scale: TimeScale = TimeScale.NS,
        target_time_scale: TimeScale = TimeScale.MS,
        debug_buffer_path: str | os.PathLike[str] | None = None,
        delegate_metadata_parser: MetadataParser | None = None,
        delegate_time_scale_converter: TimeConverter | None = None,
        *,
        debug_buffer: bytes | None = None,
    ) -> None:
        if (etdump_path is None) == (etdump_data is None):
            raise ValueError("give exactly one of etdump_path and etdump_data")
        ratio(source_time_scale, target_time_scale)
        self._name = "the ETDump" if etdump_path is None else f"the ETDump {os.fspath(etdump_path)}"
        data = etdump_data if etdump_path is None else Path(etdump_path).read_bytes()
        assert data is not None
        self._dump = _read_dump(data, self._name)
        if debug_buffer is None and debug_buffer_path is not None:
            debug_buffer = Path(debug_buffer_path).read_bytes()
        self._etrecord = _read_record(etrecord)
        self._target = target_time_scale
        self._source = source_time_scale
        self.event_blocks = blocks_of(
            self._dump,
            source_time_scale,
            target_time_scale,
            debug_buffer,
            delegate_metadata_parser,
            delegate_time_scale_converter,
        )
        self._methods: dict[int, str] = {}
        if self._dump.dropped_events:
            warnings.warn(
                f"{self._name} lacks {self._dump.dropped_events} events, which did not fit into the buffer; "
                "record it again with larger buffers (etdump_buffer_size, debug_buffer_size)",
                stacklevel=2,
            )
        if self._etrecord is not None:
            self._check_fingerprint(self._etrecord)
            self._resolve(self._etrecord)

    @property
    def dropped_events(self) -> int:
        """The number of events and values that did not fit into the buffers of the trace."""
        return self._dump.dropped_events

    @property
    def program_fingerprint(self) -> int:
        """The `rushlight.format.pte.program_fingerprint` of the executed program; 0 if it is unknown."""
        return self._dump.program_fingerprint

    def events(self) -> Iterator[Event]:
        """Yields all events of all blocks."""
        for block in self.event_blocks:
            yield from block.events

    def find_events(self, module: str | None = None, operator: str | None = None) -> list[Event]:
        """Returns the matching events of operators and delegate steps.

        Args:
            module: a module path, such as "encoder.layers.0". Its submodules match too. None matches all
                events.
            operator: a part of the name of the operator or event, such as "convolution". None matches all
                events.
        """
        return [
            event
            for event in self.events()
            if not event.is_framework
            and (module is None or any(_is_inside(path, module) for path in event.module_paths))
            and (operator is None or any(operator in name for name in (event.name, *event.op_types)))
        ]

    def find_total_for_module(self, module_name: str) -> float:
        """Returns the sum of the mean times of all operators of a module, also inside delegates.

        Args:
            module_name: a part of the module's name, as in the module stack of torch.export.
        """
        return sum(
            event.perf_data.avg
            for event in self.events()
            if event.perf_data is not None
            and not event.is_framework
            and any(
                module_name in key or module_name in str(path[0])
                for modules in event.module_hierarchy.values()
                for key, path in (modules or {}).items()
            )
        )

    def get_exported_program(self, graph: str | None = None) -> Any:
        """Returns a program of the ETRecord.

        Args:
            graph: a key of `graph_map`. None means the edge program (a dict by method if there are several
                methods).

        Returns:
            The program, or None if there is no ETRecord or no such program.
        """
        if self._etrecord is None:
            warnings.warn(
                "this Inspector has no ETRecord, and therefore no programs; give it the ETRecord of the "
                "program",
                stacklevel=2,
            )
            return None
        if graph is None:
            return self._etrecord.edge_dialect_program
        return (self._etrecord.graph_map or {}).get(graph)

    def rows(self, include_units: bool = True) -> list[JsonObject]:
        """Returns one dict of columns for each event.

        Args:
            include_units: append the unit of times to the names of columns, as in "avg (ms)".

        Returns:
            The rows of all blocks, in the order of the events.
        """
        return [row for block in self.event_blocks for row in block.rows(include_units)]

    def to_dataframe(
        self, include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> DataFrame:
        """Returns a pandas DataFrame with one row for each event. This needs pandas.

        Args:
            include_units: append the unit of times to the names of columns.
            include_delegate_debug_data: add columns with the metadata that backends recorded.
        """
        import pandas

        return pandas.concat(
            [block.to_dataframe(include_units, include_delegate_debug_data) for block in self.event_blocks],
            ignore_index=True,
        )

    def print_data_tabular(
        self,
        file: IO[str] | None = None,
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
        *,
        module: str | None = None,
        operator: str | None = None,
    ) -> None:
        """Prints a table with a row for each event.

        Args:
            file: the text file to write to; None means standard output.
            include_units: append the unit of times to the names of columns.
            include_delegate_debug_data: add columns with the metadata that backends recorded.
            module, operator: print only the events that match, as in `find_events`.
        """
        chosen = None
        if module is not None or operator is not None:
            chosen = {id(event) for event in self.find_events(module, operator)}
        unit = f" ({self._target.value})" if include_units else ""
        times = ("p10", "p50", "p90", "avg", "min", "max")
        header = ["block", "event", *(name + unit for name in times), "cv", "operators", "module", "line"]
        header += ["backend"] + ["data"] * include_delegate_debug_data
        rows = []
        for block in self.event_blocks:
            for event in block.events:
                if event.name == "OPERATOR_CALL" or (chosen is not None and id(event) not in chosen):
                    continue
                row = [block.name, _title(event)]
                perf = event.perf_data
                row += [""] * 7 if perf is None else [f"{getattr(perf, name):.5g}" for name in times]
                row += [] if perf is None else [f"{perf.cv:.2f}"]
                is_inside = not event.is_framework
                row += [_shortened(dict.fromkeys(event.op_types if is_inside else ()))]
                row += [_shortened(event.module_paths if is_inside else ())]
                row += [_shortened(event.lines if is_inside else ())]
                row += [event.delegate_backend_name or ""]
                row += [str(event.delegate_debug_metadatas or "")] * include_delegate_debug_data
                rows.append(row)
        print(text_table(header, rows), file=file or sys.stdout)

    def save_data_to_tsv(
        self,
        file: IO[Any] | str | os.PathLike[str],
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
    ) -> None:
        """Writes the events as tab-separated values, for spreadsheets.

        Args:
            file: the text file or binary file to write to, or its path.
            include_units: append the unit of times to the names of columns.
            include_delegate_debug_data: add columns with the metadata that backends recorded.
        """
        lines = self._table(include_units, include_delegate_debug_data)
        text = "".join(
            "\t".join("" if value is None else str(value) for value in line) + "\n" for line in lines
        )
        if isinstance(file, (str, os.PathLike)):
            write_file(file, text.encode())
        else:
            try:
                file.write(text)
            except TypeError:  # a binary file
                file.write(text.encode())

    def _table(self, include_units: bool, include_delegate_debug_data: bool) -> list[list[Any]]:
        """Returns the titles and the rows of the table for spreadsheets."""
        rows = self.rows(include_units)
        if include_delegate_debug_data:
            for row, event in zip(rows, self.events(), strict=True):
                row["delegate_debug_metadata"] = event.delegate_debug_metadatas
        names = [name for name in rows[0] if name not in self._HIDDEN] if rows else []
        return [names, *([row[name] for name in names] for row in rows)]

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the runs as a trace for ui.perfetto.dev.

        Args:
            path: the path of the file. With the ending .json, chrome://tracing can read the file too. With
                the ending .pftrace or .perfetto-trace, it is several times smaller.

        Raises:
            ValueError: the path has another ending.
        """
        from rushlight.devtools.inspector.chrome_trace import trace_events
        from rushlight.devtools.inspector.perfetto_trace import perfetto_trace

        check_trace_path(path)
        events = trace_events(self.event_blocks)
        if Path(path).suffix == ".json":
            write_file(path, json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}))
        else:
            write_file(path, perfetto_trace(events))

    def numeric_gaps(
        self, distance: str | NumericalComparatorBase = "SNR", reference_graph: str | None = None
    ) -> list[Gap]:
        """Compares recorded values with the values that torch computes with a graph of the ETRecord.

        Args:
            distance: the comparator, or its name: "MSE", "L1", "SNR", "COSINE" or "MAX".
            reference_graph: "exported_program", "edge_dialect_exported_program", or another name in the
                `graph_map` of the ETRecord. None is the exported program if the ETRecord has it, else the
                edge program.

        Returns:
            The distance of each compared value.

        Raises:
            ValueError: there is no ETRecord, input or recorded value, or the distance is unknown.
        """
        from rushlight.devtools.inspector.gaps import numeric_gaps
        from rushlight.devtools.inspector.numerical_comparator import comparator_of

        blocks = [(block, self._methods.get(id(block), "")) for block in self.event_blocks]
        return numeric_gaps(self._etrecord, blocks, comparator_of(distance, self), reference_graph)

    def calculate_numeric_gap(
        self,
        distance: str | NumericalComparatorBase,
        *,
        reference_graph: str | None = None,
    ) -> DataFrame:
        """Compares values like `numeric_gaps`, and returns a pandas DataFrame. This needs pandas.

        Args:
            distance: the comparator, or its name: "MSE", "L1", "SNR", "COSINE" or "MAX".
            reference_graph: as for `numeric_gaps`.

        Returns:
            A row for each compared value, with the columns aot_ops, aot_intermediate_output, runtime_ops,
            runtime_intermediate_output, gap and stacktraces.
        """
        return dataframe(gap.asdict() for gap in self.numeric_gaps(distance, reference_graph))

    def method_of(self, block: EventBlock) -> str:
        """Returns the method of the ETRecord to which a block belongs.

        Args:
            block: one of `event_blocks`.

        Returns:
            The name of the method.

        Raises:
            KeyError: the block does not belong to this inspector.
        """
        return self._methods[id(block)]

    def _check_fingerprint(self, record: ETRecord) -> None:
        ours, its = self.program_fingerprint, record.program_fingerprint
        if ours and its and ours != its:
            raise DevtoolsError(
                f"{self._name} does not belong to {_record_name(record)}: the fingerprint of the recorded "
                f"program is {ours:016x}, and the fingerprint in the ETRecord is {its:016x}; use the "
                "ETRecord that was written when this program was compiled"
            )

    def _resolve(self, record: ETRecord) -> None:
        """Connects the events with the operators of the ETRecord."""
        edge = record.edge_programs
        operators = {method: operators_of(program) for method, program in edge.items()}
        for block in self.event_blocks:
            method = _method_name(block, list(edge))
            self._methods[id(block)] = method
            handles, delegates = record.handles_of(method), record.delegates_of(method)
            counts = (record._instruction_id_to_num_outs_map or {}).get(method, {})
            outputs = (record._reference_outputs or {}).get(method)
            index = max(block.bundled_input_index or 0, 0)
            if outputs is not None and index < len(outputs):
                block.reference_output = outputs[index]
            for event in block.events:
                if event.instruction is None:
                    continue
                self._check_event(event, handles, delegates, record)
                index = event.instruction
                found = handles.get(index, ())
                event.num_outputs = int(counts.get(index, counts.get(str(index), 1)))
                if index in delegates and (event.is_delegated_op or event.name == "DELEGATE_CALL"):
                    event.delegate_backend_name, steps = delegates[index]
                    if event.is_delegated_op:
                        found = _handles_of_step(event, steps)
                if found:
                    event.debug_handles = found
                    _describe(event, _operators_of_kernel(event, look_up(operators.get(method, {}), found)))

    def _check_event(self, event: Event, handles: object, delegates: Any, record: ETRecord) -> None:
        """Raises DevtoolsError if the instruction of the event does not match the ETRecord."""
        index = event.instruction
        is_inside = event.is_delegated_op or event.name == "DELEGATE_CALL"
        if is_inside and index not in delegates:
            problem = f"instruction {index} is a delegate call in the ETDump, but not in the ETRecord"
        elif event.name.startswith("native_call_") and index in delegates:
            problem = (
                f"instruction {index} is {event.name} in the ETDump, but a delegate call in the ETRecord"
            )
        else:
            return
        raise DevtoolsError(
            f"{self._name} does not belong to {_record_name(record)}: {problem}; use the ETRecord that was "
            "written when this program was compiled"
        )


def _read_dump(data: bytes, name: str) -> ETDumpFlatCC:
    try:
        return deserialize_from_etdump_flatcc(data)
    except DevtoolsError:
        raise
    except (ValueError, RuntimeError) as error:
        raise DevtoolsError(f"{name} cannot be read: {error}") from error


def _read_record(record: Any) -> ETRecord | None:
    if isinstance(record, (str, os.PathLike)):
        from rushlight.devtools.etrecord.saved import open_etrecord

        return open_etrecord(record)
    if record is not None and not hasattr(record, "edge_dialect_program"):
        raise TypeError(f"etrecord must be an ETRecord or a path, not {type(record).__name__}")
    return record  # type: ignore[no-any-return]


def _record_name(record: ETRecord) -> str:
    return "the ETRecord" if record.path is None else f"the ETRecord {record.path}"


def _method_name(block: EventBlock, methods: list[str]) -> str:
    """Returns the method of the ETRecord to which a block belongs."""
    known = next((name for name in (block.method, block.name) if name in methods), None)
    return known or (methods[0] if len(methods) == 1 else "forward")


def _handles_of_step(event: Event, steps: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the debug handles of all operators that a step computes.

    XnnpackBackend may merge steps when it loads a program. The metadata of a merged step are the identifiers
    of the other steps as little-endian uint32 numbers.
    """
    identifiers = [event.delegate_debug_identifier]
    if event.delegate_backend_name == "XnnpackBackend":
        metadata = bytes(next(iter(event.raw_delegate_debug_metadatas), b""))
        if len(metadata) % 4 == 0:
            identifiers += struct.unpack(f"<{len(metadata) // 4}I", metadata)
    return tuple(dict.fromkeys(handle for key in identifiers for handle in _step_handles(steps, key)))


def _step_handles(steps: dict[str, tuple[int, ...]], identifier: object) -> tuple[int, ...]:
    """Returns the debug handles of a step. A backend may append text to the identifier, as in "conv (3)"."""
    text = str(identifier)
    if text in steps:
        return steps[text]
    if isinstance(identifier, int):
        return ()
    return next((handles for key, handles in steps.items() if key in text), ())


def _operators_of_kernel(event: Event, operators: list[Operator]) -> list[Operator]:
    """Selects the operators that a kernel event computes, if several operators share its debug handle."""
    is_fused = len({found.handle for found in operators}) > 1
    if is_fused or event.is_delegated_op or not event.name.startswith("native_call_"):
        return operators
    name = base_name(event.name)
    return [found for found in operators if base_name(found.op) == name] or operators


def _describe(event: Event, operators: list[Operator]) -> None:
    event.operators = operators
    event.op_types = [found.op for found in operators]
    event.stack_traces = {found.node: found.stack_trace for found in operators}
    event.module_hierarchy = {found.node: dict(found.modules) for found in operators}


def _title(event: Event) -> str:
    return f"  {event.step_name or event.name} [{event.name}]" if event.is_delegated_op else event.name


def _is_inside(path: str, module: str) -> bool:
    return path == module or path.startswith(f"{module}.")


def _shortened(names: Any) -> str:
    names = list(names)
    return ", ".join(names) if len(names) < 4 else f"{names[0]}, {names[1]} ... ({len(names)})"
