"""The schemas of the formats that this package reads and writes, bound to dataclasses."""

from __future__ import annotations

from functools import cache

from rushlight.format import flat_tensor, program
from rushlight.format.binding import Binding, bind
from rushlight.format.wire_tables import FLAT_TENSOR, PROGRAM


@cache
def program_binding() -> Binding:
    """Returns schema `program.fbs`, bound to `rushlight.format.program`."""
    return bind(PROGRAM, vars(program))


@cache
def flat_tensor_binding() -> Binding:
    """Returns schema `flat_tensor.fbs`, bound to `rushlight.format.flat_tensor`."""
    return bind(FLAT_TENSOR, vars(flat_tensor))
