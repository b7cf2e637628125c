"""Reads and writes plans as bytes."""

from __future__ import annotations

from functools import cache

from rushlight.backends.cpu.plan import tables
from rushlight.backends.cpu.plan.references import check_references
from rushlight.backends.cpu.plan.tables import Plan
from rushlight.backends.cpu.plan.wire_tables import CPU_PLAN
from rushlight.format.binding import Binding, bind
from rushlight.format.decode import decode
from rushlight.format.encode import encode
from rushlight.format.errors import MalformedError


@cache
def _binding() -> Binding:
    return bind(CPU_PLAN, vars(tables))


def write_plan(plan: Plan) -> bytes:
    """Returns the payload of a plan."""
    return bytes(encode(_binding(), plan))


def read_plan(payload: bytes) -> Plan:
    """Returns the plan of a payload.

    Raises:
        MalformedError: the payload is damaged, refers to items that do not exist, or another version wrote
            it.
    """
    layout = payload[4:8]
    if layout[:3] == b"RCP" and layout != CPU_PLAN.identifier:
        raise MalformedError(
            f"the plan has the layout {layout.decode()} of another version: compile the model again"
        )
    plan: Plan = decode(_binding(), memoryview(payload))
    check_references(plan)
    return plan
