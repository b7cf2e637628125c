"""The schemas of `.pte` and `.ptd` files, bound to dataclasses."""

from __future__ import annotations

from functools import cache

from rushlight.format import flat_tensor, program
from rushlight.format.binding import Binding, bind
from rushlight.format.wire_tables import FLAT_TENSOR, PROGRAM


@cache
def program_binding() -> Binding:
    """Returns the schema `program.fbs`, bound to the dataclasses in `rushlight.format.program`."""
    return bind(PROGRAM, vars(program))


@cache
def flat_tensor_binding() -> Binding:
    """Returns the schema `flat_tensor.fbs`, bound to the dataclasses in `rushlight.format.flat_tensor`."""
    return bind(FLAT_TENSOR, vars(flat_tensor))
