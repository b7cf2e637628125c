"""Signatures of events, with which equal events of several runs are grouped."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

from rushlight.compat.inspector.values import find_populated_event, is_debug_output
from rushlight.devtools.etdump.schema_flatcc import DebugEvent, ProfileEvent
from rushlight.devtools.etdump.schema_flatcc import Event as DumpEvent
from rushlight.devtools.inspector.numerical_comparator import DebugHandle


class DelegateMetadata(TypedDict):
    """A delegate call: the name of its backend, and the debug handles of its steps by step identifier."""

    name: str
    delegate_map: dict[int, DebugHandle] | dict[str, DebugHandle]


@dataclass(frozen=True, order=True)
class InstructionEventSignature:
    """The signature of an instruction, or of a step of the delegate that the instruction calls."""

    instruction_id: int
    chain_index: int
    delegate_id: int | None = None
    delegate_id_str: str | None = None


@dataclass
class InstructionEvent:
    """The times and values of an instruction in one run. A field is None if nothing was recorded."""

    signature: InstructionEventSignature
    profile_events: list[ProfileEvent] | None = None
    debug_events: list[DebugEvent] | None = None

    @staticmethod
    def gen_from_events(run_events: Iterable[DumpEvent]) -> list[InstructionEvent]:
        """Groups the events of a run by instruction. Outputs of the method are left out."""
        found: dict[InstructionEventSignature, InstructionEvent] = {}
        for run_event in run_events:
            event = find_populated_event(run_event)
            signature = InstructionEventSignature(
                event.instruction_id,
                event.chain_index,
                event.delegate_debug_id_int,
                event.delegate_debug_id_str,
            )
            group = found.setdefault(signature, InstructionEvent(signature))
            if isinstance(event, ProfileEvent):
                group.profile_events = [*(group.profile_events or ()), event]
            elif not is_debug_output(event.debug_entry):
                group.debug_events = [*(group.debug_events or ()), event]
        return list(found.values())


def _optional(number: int | None) -> int | None:
    """Converts a number of an ETDump, in which -1 means None."""
    return None if number == -1 else number


@dataclass(frozen=True, order=True)
class ProfileEventSignature:
    """The signature of a timed event: its name, its instruction, and the identifier of a delegate's step."""

    name: str
    instruction_id: int | None
    delegate_id: int | None = None
    delegate_id_str: str | None = None

    @staticmethod
    def _gen_from_event(event: ProfileEvent) -> ProfileEventSignature:
        """Returns the signature of an event. The values -1 and "" of a dump become None."""
        return ProfileEventSignature(
            event.name or "",
            _optional(event.instruction_id),
            _optional(event.delegate_debug_id_int),
            event.delegate_debug_id_str or None,
        )


@dataclass(frozen=True, order=True)
class DebugEventSignature:
    """The signature of a recorded value: name, instruction, and identifier of a delegate's step."""

    name: str = ""
    instruction_id: int | None = -1
    delegate_id: int | None = None
    delegate_id_str: str | None = None

    @staticmethod
    def _gen_from_event(event: DebugEvent) -> DebugEventSignature:
        """Returns the signature of an event. The values -1 and "" of a dump become None."""
        return DebugEventSignature(
            event.name or "",
            _optional(event.instruction_id),
            _optional(event.delegate_debug_id_int),
            event.delegate_debug_id_str or None,
        )


@dataclass(frozen=True, order=True)
class EventSignature:
    """The signature of an event of the Inspector: an instruction, and its times and values."""

    instruction_id: int
    profile_event_signature: ProfileEventSignature | None = None
    debug_event_signature: DebugEventSignature | None = None

    @staticmethod
    def gen_from_instruction_event(
        instruction_event: InstructionEvent,
    ) -> list[tuple[EventSignature, InstructionEvent]]:
        """Returns a pair (signature, event) for each timed event. All pairs have the instruction's values."""
        instruction = instruction_event.signature.instruction_id
        values = instruction_event.debug_events
        recorded = DebugEventSignature._gen_from_event(values[0]) if values else None
        if instruction_event.profile_events is None:
            return [(EventSignature(instruction, None, recorded), instruction_event)]
        return [
            (
                EventSignature(instruction, ProfileEventSignature._gen_from_event(event), recorded),
                dataclasses.replace(instruction_event, profile_events=[event]),
            )
            for event in instruction_event.profile_events
        ]


@dataclass(frozen=True, order=True)
class RunSignature:
    """The signature of a group of runs: name of the block, events, and index of the bundled test case."""

    name: str
    events: tuple[EventSignature, ...] | None = None
    bundled_input_index: int | None = None
