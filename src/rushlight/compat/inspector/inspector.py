"""ExecuTorch's Inspector, with the methods that users of ExecuTorch may call or override."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

import torch
from torch.fx import GraphModule

from rushlight.compat.comparators import L1Comparator, MSEComparator, SNRComparator
from rushlight.compat.inspector.debug_handles import (
    IntermediateOutputCapturer,
    get_aot_debug_handle_to_op_name_mapping,
    map_runtime_aot_intermediate_outputs,
    merge_runtime_overlapping_debug_handles,
    operators_with_handles,
    propagate_back_debug_handle,
)
from rushlight.compat.inspector.events import RESERVED_FRAMEWORK_EVENT_NAMES, EventBlock
from rushlight.compat.inspector.graphs import FXOperatorGraph, OperatorGraph, OperatorNode
from rushlight.compat.inspector.values import calculate_time_scale_factor, gen_etdump_object
from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etrecord.record import ETRecord, as_handles
from rushlight.devtools.etrecord.saved import parse_etrecord
from rushlight.devtools.inspector import inspector as plain
from rushlight.devtools.inspector.events import Event, MetadataParser, TimeConverter
from rushlight.devtools.inspector.inspector import EDGE_DIALECT_GRAPH_KEY
from rushlight.devtools.inspector.matching import arrange
from rushlight.devtools.inspector.numerical_comparator import (
    DebugHandle,
    IntermediateOutputMapping,
    NumericalComparatorBase,
    comparator_of,
)
from rushlight.devtools.inspector.perf import TimeScale
from rushlight.ir import meta
from rushlight.ir.text_table import text_table

if TYPE_CHECKING:
    from pandas import DataFrame

log = logging.getLogger(__name__)

EXPORTED, EDGE = "exported_program", "edge_dialect_exported_program"

EXCLUDED_EVENTS_FOR_INTERMEDIATE_OUTPUT = {"OPERATOR_CALL"}

_COMPARATORS: dict[str, Callable[[], NumericalComparatorBase]] = {
    "MSE": MSEComparator,
    "L1": L1Comparator,
    "SNR": SNRComparator,
}


def gen_graphs_from_etrecord(
    etrecord: ETRecord, enable_module_hierarchy: bool = False
) -> dict[str, OperatorGraph]:
    """Returns the graphs of an ETRecord by name. The edge program has the name `EDGE_DIALECT_GRAPH_KEY`."""
    programs: dict[str, Any] = dict(etrecord.graph_map or {})
    if etrecord.edge_dialect_program is not None:
        programs[EDGE_DIALECT_GRAPH_KEY] = _edge_program(etrecord)
    return {
        name: FXOperatorGraph.gen_operator_graph(
            program.graph_module, enable_module_hierarchy=enable_module_hierarchy
        )
        for name, program in programs.items()
    }


def create_debug_handle_to_op_node_mapping(op_graph: OperatorGraph) -> dict[int, list[OperatorNode]]:
    """Returns the operators of a graph and of its nested graphs, by debug handle."""
    found: dict[int, list[OperatorNode]] = {}
    for element in op_graph.elements:
        if isinstance(element, OperatorGraph):
            for handle, nodes in create_debug_handle_to_op_node_mapping(element).items():
                found.setdefault(handle, []).extend(nodes)
        elif isinstance(element, OperatorNode):
            for handle in as_handles((element.metadata or {}).get("debug_handle")):
                found.setdefault(handle, []).append(element)
    return found


def _edge_program(record: ETRecord) -> Any:
    """Returns the edge program of `forward`, or of the first method if there is no `forward`."""
    edge = record.edge_dialect_program
    if not isinstance(edge, Mapping):
        return edge
    return edge.get("forward", next(iter(edge.values()), None))


class Inspector(plain.Inspector):
    """Reads an ETDump and relates its events to the model, as Rushlight's Inspector does.

    The class has the private methods of ExecuTorch's Inspector, because users override them.

    Args:
        etdump_path: the path of the ETDump. Exactly one of `etdump_path` and `etdump_data` must be given.
        etdump_data: the bytes of the ETDump.
        etrecord: the ETRecord of the program, or its path.
        source_time_scale: the unit of the runtime's clock.
        target_time_scale: the unit of the displayed times.
        debug_buffer_path: the file with the recorded values. Without this file, recorded tensors are zeros.
        delegate_metadata_parser: parses the metadata that a backend recorded with its steps.
        delegate_time_scale_converter: converts times in delegates: `(identifier, time) -> time`. By default,
            it converts from `source_time_scale` to `target_time_scale`.
        enable_module_hierarchy: group the operators of `op_graph_dict` by module.
        reference_graph_name: the graph of `op_graph_dict` to whose operators events are related.

    Attributes:
        event_blocks: the blocks of events. Runs with the same events form one block.
        op_graph_dict: the graphs of the ETRecord by name; None without an ETRecord.

    Raises:
        RuntimeError: only one of the time scales is `CYCLES`.
        TypeError: `etrecord` is neither an ETRecord nor a path.
        ValueError: `etdump_path` and `etdump_data` are both given, or neither is given.
    """

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
        enable_module_hierarchy: bool = False,
        reference_graph_name: str = EDGE_DIALECT_GRAPH_KEY,
    ) -> None:
        if (source_time_scale is TimeScale.CYCLES) != (target_time_scale is TimeScale.CYCLES):
            raise RuntimeError(
                "times in cycles cannot be converted to another unit, as the length of a cycle is unknown"
            )
        if (etdump_path is None) == (etdump_data is None):
            raise ValueError("exactly one of etdump_path and etdump_data must be given")
        self._source, self._target = source_time_scale, target_time_scale
        self._name = "the ETDump" if etdump_path is None else f"the ETDump {os.fspath(etdump_path)}"
        self._methods = {}
        self._etrecord = _record_of(etrecord)
        dump: Any = gen_etdump_object(etdump_path=etdump_path, etdump_data=etdump_data)
        self._dump = dump
        buffer = None if debug_buffer_path is None else Path(debug_buffer_path).read_bytes()
        if buffer is None:
            warnings.warn("no debug buffer is given: recorded tensors are shown as zeros", stacklevel=2)
        scale = calculate_time_scale_factor(source_time_scale, target_time_scale)
        self.event_blocks = EventBlock._gen_from_etdump(  # type: ignore[assignment]
            etdump=dump,
            source_time_scale=source_time_scale,
            target_time_scale=target_time_scale,
            output_buffer=buffer,
            delegate_metadata_parser=delegate_metadata_parser,
            delegate_time_scale_converter=delegate_time_scale_converter
            or (lambda identifier, ticks: ticks / scale),
        )
        for block in self.event_blocks:
            _name_steps(block.events)
        self.op_graph_dict: Mapping[str, OperatorGraph] | None = None
        self._enable_module_hierarchy = enable_module_hierarchy
        self._consume_etrecord(reference_graph_name)

    _HIDDEN: ClassVar[tuple[str, ...]] = (
        *("raw", "cv", "delegate_debug_identifier", "stack_traces", "module_hierarchy"),
        *("modules", "lines", "debug_data"),
    )

    def _table(self, include_units: bool, include_delegate_debug_data: bool) -> list[list[Any]]:
        """Returns the titles and the rows of ExecuTorch's table, which begin with the number of the row."""
        head, *rows = super()._table(include_units, include_delegate_debug_data)
        shown = [row for row in rows if row[head.index("event_name")] != "OPERATOR_CALL"]
        return [["", *head], *([number, *row] for number, row in enumerate(shown))]

    def print_data_tabular(
        self,
        file: IO[str] | None = None,
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
        *,
        module: str | None = None,
        operator: str | None = None,
    ) -> None:
        """Prints ExecuTorch's table. `module` and `operator` select events of Rushlight's table."""
        if module is not None or operator is not None:
            super().print_data_tabular(
                file, include_units, include_delegate_debug_data, module=module, operator=operator
            )
            return
        head, *rows = self._table(include_units, include_delegate_debug_data)
        print(text_table(head, [[*map(_cell, row)] for row in rows]), file=file or sys.stdout)

    def get_op_list(self, event_block: str, show_delegated_ops: bool | None = True) -> dict[str, list[Event]]:
        """Returns the events in the blocks of a name by operator, with or without those of delegates."""
        found: dict[str, list[Event]] = {}
        for event in (
            event for block in self.event_blocks if block.name == event_block for event in block.events
        ):
            if show_delegated_ops or not event.delegate_backend_name:
                for op in dict.fromkeys(event.op_types):
                    found.setdefault(op, []).append(event)
        return found

    def _consume_etrecord(self, reference_graph_name: str) -> None:
        """Relates the events to the operators of the ETRecord, if there is one."""
        record = self._etrecord
        if record is None:
            return
        if self._dump is not None:
            self._check_fingerprint(record)
        self._resolve(record)
        self.op_graph_dict = gen_graphs_from_etrecord(
            etrecord=record, enable_module_hierarchy=self._enable_module_hierarchy
        )
        if reference_graph_name not in self.op_graph_dict:
            raise DevtoolsError(
                f"the ETRecord has no graph {reference_graph_name!r}; it has {sorted(self.op_graph_dict)}"
            )
        nodes = create_debug_handle_to_op_node_mapping(self.op_graph_dict[reference_graph_name])
        for event in self.events():
            if event.name in RESERVED_FRAMEWORK_EVENT_NAMES:  # they belong to no instruction
                event.operators = []
            handles = as_handles(event.debug_handles)
            if handles:  # as in the debug handle map of the ETRecord
                event.debug_handles = handles[0] if len(handles) == 1 else list(handles)
            event.op_types, event.stack_traces, event.module_hierarchy = [], {}, {}
            event._associate_with_op_graph_nodes(nodes)  # type: ignore[attr-defined]

    def _resolve_reference_graph(
        self, reference_graph: str | None = None, disable_debug_handle_validation: bool = False
    ) -> tuple[GraphModule, str]:
        """Returns the reference graph for a comparison with the runtime, and its name.

        Args:
            reference_graph: "exported_program", "edge_dialect_exported_program", or a name in `graph_map`
                with or without a method. None means the exported program if possible, else the edge program.
            disable_debug_handle_validation: the option of `propagate_back_debug_handle`.

        Raises:
            ValueError: the ETRecord does not have the graph, or the edge program was not made from the
                exported program.
        """
        record = self._record()
        if reference_graph in (None, EXPORTED):
            exported = record.exported_program
            if exported is not None and propagate_back_debug_handle(
                exported,
                record.export_graph_id or 0,
                _edge_program(record),
                disable_debug_handle_validation,
            ):
                return exported.module(), EXPORTED
            if reference_graph == EXPORTED:
                raise ValueError(
                    f"Cannot use '{EXPORTED}': the ETRecord has none, or debug handle backpropagation "
                    "failed, because an edge node was not made from one of its nodes; "
                    "disable_debug_handle_valdiation=True turns this check off"
                )
            log.warning(
                "the runtime is compared with the edge program, because the exported program is missing or "
                "does not match the edge program"
            )
            reference_graph = EDGE
        if reference_graph == EDGE:
            return _edge_program(record).module(), EDGE
        assert reference_graph is not None
        name = reference_graph if "/" in reference_graph else f"{reference_graph}/forward"
        graphs = record.graph_map or {}
        if name not in graphs:
            raise ValueError(
                f"the graph {name!r} is not found in the ETRecord; it has {[EXPORTED, EDGE, *graphs]}"
            )
        return graphs[name].module(), reference_graph

    def _record(self) -> ETRecord:
        if self._etrecord is None:
            raise ValueError(
                "calculate_numeric_gap needs an ETRecord with representative inputs; pass it to the Inspector"
            )
        return self._etrecord

    def _get_aot_intermediate_outputs_and_op_names(
        self, reference_graph_module: GraphModule
    ) -> tuple[dict[DebugHandle, Any], dict[DebugHandle, list[str]]]:
        """Runs a graph on the inputs of the ETRecord. Returns values and operator names by debug handle."""
        names = get_aot_debug_handle_to_op_name_mapping(reference_graph_module)
        capturer = IntermediateOutputCapturer(reference_graph_module)
        inputs = self._record()._representative_inputs
        if inputs is None:
            raise ValueError(
                "the ETRecord has no representative inputs; add them with update_representative_inputs"
            )
        return capturer.run_and_capture(inputs), names

    def _get_aot_debug_handle_to_stack_traces(
        self, reference_graph_module: GraphModule, resolved_graph_name: str
    ) -> dict[DebugHandle, dict[str, str | None]]:
        """Returns the stack traces of the operators of a graph, by debug handle and operator name."""
        traces: dict[DebugHandle, dict[str, str | None]] = {}
        for node, handles in operators_with_handles(reference_graph_module):
            traces.setdefault(handles, {})[node.name] = meta.get_stack_trace(node)
        if traces and not any(trace for named in traces.values() for trace in named.values()):
            log.warning("the graph %s has no stack traces", resolved_graph_name)
        return traces

    def _get_runtime_intermediate_outputs_and_op_names(
        self,
    ) -> tuple[dict[DebugHandle, tuple[Any, int]], dict[DebugHandle, list[str]]]:
        """Returns the recorded values with the numbers of results, and the names of events, by debug handles.

        A delegate call is left out if the values of its steps were recorded.
        """
        steps: dict[str | None, set[int]] = {}
        for event in self.events():
            if event.is_delegated_op and event.op_types and event.debug_data:
                steps.setdefault(event.delegate_backend_name, set()).update(as_handles(event.debug_handles))
        found: dict[DebugHandle, tuple[int, Any, int]] = {}
        names: dict[DebugHandle, list[str]] = {}
        for event in self.events():
            if event.name in EXCLUDED_EVENTS_FOR_INTERMEDIATE_OUTPUT or not event.op_types:
                continue
            handles = as_handles(event.debug_handles)
            inside = steps.get(event.delegate_backend_name, set())
            if event.name == "DELEGATE_CALL" and not inside.isdisjoint(handles):
                continue
            index = -1 if event.instruction is None else event.instruction
            if index > found.get(handles, (-1,))[0]:
                found[handles] = (index, event.debug_data, event.num_outputs)
                # A step of a delegate with a number belongs to the delegate call.
                is_number = isinstance(event.delegate_debug_identifier, int)
                names[handles] = ["DELEGATE_CALL" if is_number else event.name]
        merged = merge_runtime_overlapping_debug_handles(found)
        return {handles: (value, count) for handles, (_, value, count) in merged.items()}, names

    def calculate_numeric_gap(
        self,
        distance: str | NumericalComparatorBase,
        disable_debug_handle_valdiation: bool = False,
        reference_graph: str | None = None,
    ) -> DataFrame:
        """Compares recorded values with the values of a graph of the ETRecord on the same inputs.

        Args:
            distance: "MSE", "L1", "SNR", or a comparator.
            disable_debug_handle_valdiation: also compare with an exported program from which some edge nodes
                were not made.
            reference_graph: "exported_program", "edge_dialect_exported_program", or a name in the ETRecord's
                `graph_map`. None means the exported program if possible, else the edge program.

        Returns:
            A DataFrame with a row for each compared value. It has the columns of
            `NumericalComparatorBase.compare` and the column "stacktraces".

        Raises:
            ValueError: the ETRecord, its inputs or the graph are missing, or the distance is unknown.
        """
        module, name = self._resolve_reference_graph(reference_graph, disable_debug_handle_valdiation)
        values, operators = self._get_aot_intermediate_outputs_and_op_names(module)
        if not values or not operators:
            raise ValueError("the graph of the ETRecord has no operators with debug handles")
        traces = self._get_aot_debug_handle_to_stack_traces(module, name)
        recorded, events = self._get_runtime_intermediate_outputs_and_op_names()
        if isinstance(distance, str) and distance.strip().upper() in _COMPARATORS:
            distance = _COMPARATORS[distance.strip().upper()]()
        comparator = comparator_of(distance, self)
        mapping = _with_reference_shapes(map_runtime_aot_intermediate_outputs(values, recorded))
        frame = comparator.compare(mapping, operators, events)
        if len(frame):
            by_name = {op: trace for named in traces.values() for op, trace in named.items()}
            frame["stacktraces"] = frame["aot_ops"].apply(lambda ops: _traces(ops, by_name))
        return frame


def _name_steps(events: Sequence[Event]) -> None:
    """Names the numbered steps of delegates as ExecuTorch names steps of XNNPACK: `XNNAdd #1`."""
    seen: Counter[tuple[int | None, str]] = Counter()
    for event in events:
        if isinstance(event.delegate_debug_identifier, int) and event.step_name:
            key = (event.instruction, event.step_name)
            seen[key] += 1
            event.name = f"{event.step_name} #{seen[key]}"


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


def _with_reference_shapes(mapping: IntermediateOutputMapping) -> IntermediateOutputMapping:
    """Converts values of delegate steps to the shapes of their references.

    A pair is left out if the value cannot be converted to the shape of its reference.
    """
    result: IntermediateOutputMapping = {}
    for (handles, reference), (event, value) in mapping.items():
        if isinstance(reference, torch.Tensor) and isinstance(value, torch.Tensor):
            value = value if value.shape == reference.shape else arrange(value, reference)
            if value is None:
                continue
        result[handles, reference] = (event, value)
    return result


def _traces(operators: str | Sequence[str], by_name: Mapping[str, str | None]) -> dict[str, str | None]:
    return {name: by_name.get(name) for name in operators}


def _record_of(record: object) -> ETRecord | None:
    if isinstance(record, (str, os.PathLike)):
        return parse_etrecord(etrecord_path=record)
    if record is not None and not isinstance(record, ETRecord):
        raise TypeError(f"etrecord must be an ETRecord or the path of one, not {type(record).__name__}")
    return record
