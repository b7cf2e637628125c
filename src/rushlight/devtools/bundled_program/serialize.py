"""Writes and reads bundled programs as bytes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rushlight.devtools.bundled_program import schema
from rushlight.devtools.bundled_program.version import BUNDLED_PROGRAM_SCHEMA_VERSION
from rushlight.devtools.bundled_program.wire_tables import BUNDLED_PROGRAM
from rushlight.format.binding import Binding, bind
from rushlight.format.buffers import byte_view
from rushlight.format.decode import decode
from rushlight.format.encode import encode
from rushlight.format.errors import FormatError

if TYPE_CHECKING:
    from rushlight.devtools.bundled_program.core import BundledProgram


@cache
def _binding() -> Binding:
    return bind(BUNDLED_PROGRAM, vars(schema))


def serialize_from_bundled_program_to_flatbuffer(
    bundled_program: BundledProgram | schema.BundledProgram,
) -> bytes:
    """Returns the bytes of a `.bpte` file. Equal programs and test cases give equal bytes.

    Args:
        bundled_program: the program and its test cases, or their tables.

    Raises:
        FormatError: the file would be larger than 2 GiB.
    """
    if not isinstance(bundled_program, schema.BundledProgram):
        bundled_program = bundled_program.serialize_to_schema()
    return bytes(encode(_binding(), bundled_program))


def deserialize_from_flatbuffer_to_bundled_program(flatbuffer: object) -> schema.BundledProgram:
    """Reads a `.bpte` file. The program inside is not parsed.

    Args:
        flatbuffer: the bytes of the file, as any buffer object.

    Returns:
        The tables of the file. `program` has the bytes of the `.pte` file.

    Raises:
        FormatError: the bytes are not a bundled program, or are damaged.
    """
    try:
        view = byte_view(flatbuffer)
    except TypeError as error:
        raise FormatError(str(error)) from error
    bundle: schema.BundledProgram = decode(_binding(), view)
    if bundle.version > BUNDLED_PROGRAM_SCHEMA_VERSION:
        known = BUNDLED_PROGRAM_SCHEMA_VERSION
        raise FormatError(
            f"the bundled program has version {bundle.version}, but this reader supports versions up to "
            f"{known}"
        )
    return bundle
