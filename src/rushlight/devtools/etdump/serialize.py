"""Converts ETDumps to bytes and back."""

from __future__ import annotations

from functools import cache

from rushlight.devtools.etdump import schema_flatcc
from rushlight.devtools.etdump.schema_flatcc import ETDumpFlatCC
from rushlight.devtools.etdump.wire_tables import ETDUMP
from rushlight.format.binding import Binding, bind
from rushlight.format.buffers import byte_view
from rushlight.format.decode import decode
from rushlight.format.encode import encode
from rushlight.format.errors import FormatError, MalformedError

_PREFIX = 4
_VERSION = 0


@cache
def _binding() -> Binding:
    return bind(ETDUMP, {**vars(schema_flatcc), "ETDump": ETDumpFlatCC})


def serialize_to_etdump_flatcc(etdump: ETDumpFlatCC, *, size_prefixed: bool = False) -> bytes:
    """Returns the bytes of an ETDump.

    Args:
        etdump: the ETDump.
        size_prefixed: write the size before the data, as in the files that the runtime writes.

    Raises:
        FormatError: a value does not fit its field.
    """
    data = encode(_binding(), etdump, start=_PREFIX if size_prefixed else 0)
    if size_prefixed:
        data[:_PREFIX] = (len(data) - _PREFIX).to_bytes(_PREFIX, "little")
    return bytes(data)


def deserialize_from_etdump_flatcc(data: object, size_prefixed: bool = True) -> ETDumpFlatCC:
    """Reads an ETDump. All offsets and sizes are checked.

    Args:
        data: the bytes, as any buffer object.
        size_prefixed: whether the bytes start with the size, as in the files that a runtime writes.

    Raises:
        FormatError: the bytes are not an ETDump, or are damaged.
    """
    try:
        view = byte_view(data)
    except TypeError as error:
        raise FormatError(str(error)) from error
    start = 0
    if size_prefixed:
        start = _PREFIX
        size = int.from_bytes(view[:_PREFIX], "little")
        identifier, expected = bytes(view[_PREFIX + 4 : _PREFIX + 8]), _binding().schema.identifier
        if identifier != expected:
            raise MalformedError(f"not an ETDump: the file identifier is {identifier!r}, not {expected!r}")
        if size > len(view) - _PREFIX:
            present = max(len(view) - _PREFIX, 0)
            raise MalformedError(
                f"the size prefix of the dump is {size} bytes, but {present} bytes are present",
                table="ETDump",
            )
        view = view[: _PREFIX + size]
    etdump: ETDumpFlatCC = decode(_binding(), view, start=start)
    if etdump.version > _VERSION:
        raise FormatError(
            f"the dump has version {etdump.version}, but this reader supports versions up to {_VERSION}"
        )
    return etdump
