"""Converts plans in the layouts of released versions to the current layout.

A layout is a version of the payload format; its identifier, such as RCP2, is in the payload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rushlight.backends.cpu.plan.payload import write_plan
from rushlight.backends.cpu.plan.tables import Plan
from rushlight.backends.cpu.plan.wire_tables import CPU_PLAN
from rushlight.format.errors import MalformedError

CURRENT = CPU_PLAN.identifier.decode()
"""The layout that this version writes and reads."""

UPGRADES: dict[str, Callable[[bytes], Plan]] = {}
"""For each older layout of a released version: the function that converts its payloads to plans.

Version 0.1.0 writes RCP2. RCP1 was never released, and its steps lack information that RCP2 needs.
"""


def layout_of(payload: bytes) -> str:
    """Returns the four letters that identify the layout of a payload."""
    return payload[4:8].decode("ascii", "replace")


def can_upgrade(layout: str, upgrades: Mapping[str, Callable[[bytes], Plan]] = UPGRADES) -> bool:
    """Returns whether plans in this layout can be converted to the current layout without the model."""
    return layout == CURRENT or layout in upgrades


def upgraded(payload: bytes, upgrades: Mapping[str, Callable[[bytes], Plan]] = UPGRADES) -> bytes:
    """Returns the payload in the current layout.

    Args:
        payload: a payload in any layout.
        upgrades: the functions that convert older layouts.

    Raises:
        MalformedError: the payload is damaged, or its layout lacks information that the current layout needs.
    """
    layout = layout_of(payload)
    if layout == CURRENT:
        return payload
    if layout not in upgrades:
        raise MalformedError(
            f"the plan has the layout {layout}, which cannot be converted to {CURRENT} without the model: "
            "compile the model again"
        )
    return write_plan(upgrades[layout](payload))
