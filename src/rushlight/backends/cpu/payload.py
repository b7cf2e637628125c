"""Plans as bytes."""

from __future__ import annotations

from functools import cache

from rushlight.backends.cpu import graph
from rushlight.backends.cpu.graph import Plan
from rushlight.backends.cpu.wire_tables import CPU_PLAN
from rushlight.format.binding import Binding, bind
from rushlight.format.decode import decode
from rushlight.format.encode import encode


@cache
def _binding() -> Binding:
    return bind(CPU_PLAN, vars(graph))


def write_plan(plan: Plan) -> bytes:
    """The payload of a plan."""
    return bytes(encode(_binding(), plan))


def read_plan(payload: bytes) -> Plan:
    """The plan of a payload. Raises MalformedError."""
    plan: Plan = decode(_binding(), memoryview(payload))
    return plan
