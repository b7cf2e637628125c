"""Reads and writes payloads: a header, the tables, and the constants that are stored in the payload."""

from __future__ import annotations

import struct
from functools import cache

from rushlight.backends.xnnpack import graph
from rushlight.backends.xnnpack.constants import NONE
from rushlight.backends.xnnpack.graph import XNNGraph
from rushlight.backends.xnnpack.wire_tables import XNNPACK
from rushlight.format.binding import Binding, bind
from rushlight.format.buffers import byte_view
from rushlight.format.decode import decode
from rushlight.format.encode import encode
from rushlight.format.errors import MalformedError
from rushlight.format.segments import align_up

ALIGNMENT = 16  # alignment in bytes of the tables, the constants section, and every constant
MAGIC = b"XH00"
HEADER = struct.Struct("<4x4sHIIIQ")  # magic, header length, tables and their size, constants and their size


@cache
def _binding() -> Binding:
    return bind(XNNPACK, vars(graph))


def write_payload(tables: XNNGraph, constants: bytes = b"") -> bytes:
    """Returns the payload of a graph.

    Args:
        tables: the graph.
        constants: the constants in the payload. Offsets in the constant data of the graph are relative to
            their start.
    """
    encoded = encode(_binding(), tables)
    start = align_up(HEADER.size, ALIGNMENT)
    size = align_up(len(encoded), ALIGNMENT)
    header = HEADER.pack(MAGIC, HEADER.size, start, len(encoded), start + size, len(constants))
    return b"".join((header, bytes(start - len(header)), encoded, bytes(size - len(encoded)), constants))


def read_payload(data: bytes) -> tuple[XNNGraph, memoryview]:
    """Reads a payload.

    Returns:
        The graph, and the constants that are stored in the payload.

    Raises:
        MalformedError: the payload is damaged, or a node refers to a value that does not exist.
    """
    view = byte_view(data)
    if len(view) < 8:
        raise MalformedError(f"a payload of {len(view)} bytes has no header")
    if bytes(view[4:8]) != MAGIC:
        return _decode(view), view[:0]
    if len(view) < HEADER.size:
        raise MalformedError(f"a payload of {len(view)} bytes has no header")
    _, length, start, size, constants, constants_size = HEADER.unpack_from(view)
    if not HEADER.size <= length <= len(view):
        raise MalformedError(
            f"the length of the header is {length} bytes, but the payload has {len(view)}", offset=8
        )
    if start + size > len(view) or constants + constants_size > len(view):
        raise MalformedError("tables or constants are outside of the payload", offset=10)
    return _decode(view[start : start + size]), view[constants : constants + constants_size]


def _decode(tables: memoryview) -> XNNGraph:
    """Decodes the tables, and checks that nodes refer to values that exist."""
    found: XNNGraph = decode(_binding(), tables)
    count = len(found.xvalues)
    for index, value in enumerate(found.xvalues):
        union = value.xvalue_union
        if union is None or getattr(union, "tensor_value", union) is None:
            raise MalformedError(f"value {index} of the payload has no tensor")
    for index, node in enumerate(found.xnodes):
        if node.xnode_union is None:
            raise MalformedError(f"node {index} of the payload has no type")
        for name, value in vars(node.xnode_union).items():
            is_absent = value == NONE and not name.startswith("output")
            if name.endswith("_id") and value >= count and not is_absent:
                raise MalformedError(
                    f"node {index} of the payload ({type(node.xnode_union).__name__}) has the {name} "
                    f"{value}, but there are {count} values"
                )
    return found
