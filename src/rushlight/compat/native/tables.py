"""Converts programs to bytes and back. The bytes are the member `program.ptg` of a package."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rushlight.compat.native import schema
from rushlight.compat.native.schema import Graph, Program
from rushlight.compat.native.wire_tables import NATIVE_GRAPH
from rushlight.format.binding import Binding, bind
from rushlight.format.buffers import byte_view
from rushlight.format.decode import decode
from rushlight.format.encode import encode
from rushlight.format.errors import FormatError

SCHEMA_VERSION = "1"
"""The version of the schema in written programs."""


@cache
def _binding() -> Binding:
    return bind(NATIVE_GRAPH, vars(schema))


def encode_program(program: Program) -> bytes:
    """Returns the bytes of a program. They depend only on the program.

    Args:
        program: the program.

    Raises:
        EncodeError: a value does not fit its field. The message names the field.
    """
    return bytes(encode(_binding(), program))


def deserialize_program(data: bytes) -> Program:
    """Returns the program of bytes. `validate_program` checks its references.

    Args:
        data: a buffer object.

    Raises:
        MalformedError: the bytes are not those of a program. The message names the table and the field.
    """
    program: Program = decode(_binding(), byte_view(data))
    return program


def deserialize_graph(data: bytes) -> Graph:
    """Returns the graph of the first method.

    Args:
        data: the bytes of a program.

    Raises:
        MalformedError: the bytes are not those of a program.
        FormatError: the program has no methods.
    """
    program = deserialize_program(data)
    if not program.methods:
        raise FormatError("the program has no methods")
    return program.methods[0].graph


def merge_programs(method_blobs: Mapping[str, bytes]) -> bytes:
    """Makes one program of several programs with one method each.

    Args:
        method_blobs: the bytes of the programs. The keys are the new names of their methods.

    Returns:
        The bytes of the program.

    Raises:
        MalformedError: bytes are not those of a program.
        FormatError: a program does not have exactly one method.
    """
    methods = []
    for name, blob in method_blobs.items():
        program = deserialize_program(blob)
        if len(program.methods) != 1:
            raise FormatError(f"the program for {name!r} has {len(program.methods)} methods, not one")
        (method,) = program.methods
        method.name = name
        methods.append(method)
    return encode_program(Program(methods, SCHEMA_VERSION))
