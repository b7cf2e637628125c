"""Events and blocks of events, which are made from the runs of an ETDump with ExecuTorch's functions."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rushlight.compat.inspector.graphs import OperatorNode
from rushlight.compat.inspector.signatures import (
    DebugEventSignature,
    EventSignature,
    InstructionEvent,
    ProfileEventSignature,
    RunSignature,
)
from rushlight.compat.inspector.values import (
    ProgramOutput,
    calculate_time_scale_factor,
    inflate_runtime_output,
    is_debug_output,
    is_inference_output_equal,
    verify_debug_data_equivalence,
)
from rushlight.devtools.etdump.schema_flatcc import ETDumpFlatCC
from rushlight.devtools.etdump.schema_flatcc import Event as DumpEvent
from rushlight.devtools.inspector import events as plain
from rushlight.devtools.inspector import perf
from rushlight.devtools.inspector.events import MetadataParser, TimeConverter
from rushlight.devtools.inspector.perf import TimeScale

log = logging.getLogger(__name__)

RESERVED_FRAMEWORK_EVENT_NAMES = ["Method::init", "Program::load_method", "Method::execute"]


@dataclass
class PerfData(perf.PerfData):
    """The times of an event, one for each run. Objects with equal times are equal."""


@dataclass
class Event(plain.Event):
    """An event, as in Rushlight's Inspector. Events with equal fields are equal."""

    _delegate_time_scale_converter: TimeConverter | None = None
    step_name: str = field(default="", compare=False)

    @staticmethod
    def _gen_from_inference_events(
        signature: EventSignature,
        events: Sequence[InstructionEvent],
        scale_factor: float = 1.0,
        output_buffer: bytes | None = None,
        delegate_metadata_parser: MetadataParser | None = None,
        delegate_time_scale_converter: TimeConverter | None = None,
    ) -> Event:
        """Makes the event for a signature from its instructions, one for each run.

        Args:
            signature: the signature of all these instructions.
            events: the instructions, each with at most one timed event.
            scale_factor: the number of clock ticks in one unit of the displayed times.
            output_buffer: the debug buffer.
            delegate_metadata_parser: parses the metadata that a backend recorded with its steps.
            delegate_time_scale_converter: converts times in delegates: `(identifier, time) -> time`.
        """
        event = Event(
            "",
            _instruction_id=signature.instruction_id,
            _delegate_metadata_parser=delegate_metadata_parser,
            _delegate_time_scale_converter=delegate_time_scale_converter,
        )
        Event._populate_profiling_related_fields(
            event, signature.profile_event_signature, events, scale_factor
        )
        Event._populate_debugging_related_fields(
            event, signature.debug_event_signature, events, output_buffer
        )
        return event

    @staticmethod
    def _calculate_elapsed_time(start_time: Any, end_time: Any) -> Any:
        """Returns the number of ticks between two times.

        Raises:
            ValueError: the end is before the start, and the clock has more than 32 bits.
        """
        if start_time > end_time and max(start_time, end_time) >= 2**32:
            raise ValueError(
                f"an event starts at {start_time} and ends at {end_time}; only a 32-bit clock can wrap around"
            )
        return perf.elapsed(start_time, end_time)

    @staticmethod
    def _populate_event_signature_fields(
        ret_event: Event, event_signature: ProfileEventSignature | DebugEventSignature | None
    ) -> None:
        """Sets the name and the identifier of an event. The name of a delegate's step is its identifier."""
        if event_signature is None:
            return
        identifier: int | str | None = event_signature.delegate_id
        if identifier is None:
            identifier = event_signature.delegate_id_str or None
        ret_event.step_name = event_signature.name or ret_event.step_name
        ret_event.name = event_signature.name if identifier is None else str(identifier)
        ret_event.delegate_debug_identifier = identifier
        ret_event.is_delegated_op = identifier is not None

    @staticmethod
    def _populate_profiling_related_fields(
        ret_event: Event,
        profile_event_signature: ProfileEventSignature | None,
        events: Sequence[InstructionEvent],
        scale_factor: float,
    ) -> None:
        """Sets the times of an event, and the metadata that a backend recorded.

        Raises:
            ValueError: an instruction has several timed events.
        """
        Event._populate_event_signature_fields(ret_event, profile_event_signature)
        converter = ret_event._delegate_time_scale_converter if ret_event.is_delegated_op else None
        times: list[float] = []
        starts: list[int | float] = []
        metadatas: list[Any] = []
        for instruction in events:
            if instruction.profile_events is None:
                continue
            if len(instruction.profile_events) != 1:
                raise ValueError(
                    f"an instruction of one event has {len(instruction.profile_events)} timed events, not one"
                )
            timed = instruction.profile_events[0]
            start, end = timed.start_time, timed.end_time
            if converter is not None:
                start, end = (converter(ret_event.name, ticks) for ticks in (start, end))
            elapsed = float(Event._calculate_elapsed_time(start, end))
            times.append(elapsed if converter is not None else elapsed / scale_factor)
            starts.append(timed.start_time)
            metadatas.append(timed.delegate_debug_metadata or "")
        if times:
            ret_event.perf_data = PerfData(times)
            ret_event._start_time = starts
        if any(metadatas):
            ret_event._delegate_debug_metadatas = metadatas

    @staticmethod
    def _populate_debugging_related_fields(
        ret_event: Event,
        debug_event_signature: DebugEventSignature | None,
        events: Sequence[InstructionEvent],
        output_buffer: bytes | None = None,
    ) -> None:
        """Sets the values of an event to the values of the first run.

        Raises:
            AssertionError: another run recorded different values.
        """
        if debug_event_signature is not None:
            name = ret_event.name
            Event._populate_event_signature_fields(ret_event, debug_event_signature)
            ret_event.name = ret_event.name or name  # Values in older dumps have no names.
        first: list[Any] = []
        for instruction in events:
            if instruction.debug_events is None:
                continue
            values = [
                inflate_runtime_output(event.debug_entry, output_buffer) for event in instruction.debug_events
            ]
            if first and not all(map(is_inference_output_equal, first, values)):
                raise AssertionError(
                    f"{ret_event.name or 'an event'} recorded different values in runs with the same inputs"
                )
            first = first or values
        ret_event.debug_data = first

    def _associate_with_op_graph_nodes(
        self, debug_handle_to_op_node_map: Mapping[int, Sequence[OperatorNode]]
    ) -> None:
        """Adds the operators, stack traces and modules of the nodes with the event's debug handles."""
        if self.name in RESERVED_FRAMEWORK_EVENT_NAMES or self.debug_handles is None:
            return
        handles = (self.debug_handles,) if isinstance(self.debug_handles, int) else self.debug_handles
        for node in (node for handle in handles for node in debug_handle_to_op_node_map.get(handle, ())):
            if node.metadata is not None:
                self.stack_traces.setdefault(node.name, node.metadata.get("stack_trace"))
                self.module_hierarchy.setdefault(node.name, node.metadata.get("nn_module_stack") or {})
                if node.op:
                    self.op_types.append(node.op)


@dataclass(eq=False)
class EventBlock(plain.EventBlock):
    """A block of events, as in Rushlight's Inspector."""

    @staticmethod
    def _gen_from_etdump(
        etdump: ETDumpFlatCC,
        source_time_scale: TimeScale = TimeScale.NS,
        target_time_scale: TimeScale = TimeScale.MS,
        output_buffer: bytes | None = None,
        delegate_metadata_parser: MetadataParser | None = None,
        delegate_time_scale_converter: TimeConverter | None = None,
    ) -> list[EventBlock]:
        """Makes the blocks of a dump. Runs with equal events form one block.

        Args:
            etdump: the dump.
            source_time_scale: the unit of the runtime's clock.
            target_time_scale: the unit of the displayed times.
            output_buffer: the debug buffer. If it is None, the recorded tensors are zeros.
            delegate_metadata_parser: parses the metadata that a backend recorded with its steps.
            delegate_time_scale_converter: converts times in delegates: `(identifier, time) -> time`.

        Raises:
            AssertionError: two runs of a block recorded different values.
        """
        groups: dict[RunSignature, _Group] = {}
        for run in etdump.run_data:
            if run.events is None:
                continue
            found = {
                signature: instruction
                for collected in InstructionEvent.gen_from_events(run.events)
                if collected.profile_events is not None or collected.debug_events is not None
                for signature, instruction in EventSignature.gen_from_instruction_event(collected)
            }
            signature_of_run = RunSignature(run.name, tuple(found), run.bundled_input_index)
            group = groups.setdefault(signature_of_run, _Group())
            for signature, instruction in found.items():
                group.events.setdefault(signature, []).append(instruction)
            group.runs += 1
            outputs = EventBlock._collect_run_outputs(run.events, output_buffer)
            if group.outputs:
                verify_debug_data_equivalence(group.outputs, outputs)
            group.outputs = group.outputs or outputs
        scale = calculate_time_scale_factor(source_time_scale, target_time_scale)
        return [
            EventBlock(
                run_signature.name,
                [
                    Event._gen_from_inference_events(
                        signature,
                        instructions,
                        scale,
                        output_buffer,
                        delegate_metadata_parser,
                        delegate_time_scale_converter,
                    )
                    for signature, instructions in group.events.items()
                ],
                source_time_scale,
                target_time_scale,
                run_signature.bundled_input_index,
                group.outputs,
                runs=group.runs,
            )
            for run_signature, group in groups.items()
        ]

    @staticmethod
    def _collect_run_outputs(
        events: Iterable[DumpEvent], output_buffer: bytes | None = None
    ) -> ProgramOutput:
        """Returns the recorded outputs of the method."""
        entries = (event.debug_event.debug_entry for event in events if event.debug_event is not None)
        return [inflate_runtime_output(entry, output_buffer) for entry in entries if is_debug_output(entry)]

    def _gen_resolve_debug_handles(
        self,
        handle_map: Mapping[str, Sequence[int]],
        delegate_map: Mapping[str, Any] | None = None,
        instruction_id_to_num_outs_map: Mapping[Any, int] | None = None,
    ) -> None:
        """Sets the debug handles, backends and numbers of results of the events.

        Args:
            handle_map: the debug handles of each instruction.
            delegate_map: the `DelegateMetadata` of each delegate call.
            instruction_id_to_num_outs_map: the number of results of each instruction.
        """
        for event in self.events:
            index = str(event.instruction)
            if event.instruction is None or index not in handle_map:
                continue
            event.num_outputs = (instruction_id_to_num_outs_map or {}).get(index, 1)
            delegate = (delegate_map or {}).get(index)
            is_step = event.delegate_debug_identifier is not None
            if delegate is not None and (is_step or event.name == "DELEGATE_CALL"):
                event.delegate_backend_name = delegate.get("name", "")
            if not is_step or delegate is None:
                event.debug_handles = handle_map[index]
                if is_step:
                    log.warning("the ETRecord has no delegate call for instruction %s of the ETDump", index)
            else:
                steps = delegate.get("delegate_map") or {}
                event.debug_handles = _handles_of_step(steps, event.delegate_debug_identifier)


@dataclass
class _Group:
    """Runs with equal events."""

    events: dict[EventSignature, list[InstructionEvent]] = field(default_factory=dict)
    outputs: ProgramOutput = field(default_factory=list)
    runs: int = 0


def _handles_of_step(steps: Mapping[Any, Any], identifier: object) -> Any:
    """Returns the debug handles of a step. A backend may append text to an identifier: "conv (3)"."""
    if identifier in steps:
        return steps[identifier]
    text = str(identifier)
    return steps.get(text) or next((value for key, value in steps.items() if str(key) in text), None)
