"""Reads and writes `.ptd` files. They contain tensors and bytes to which programs refer by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import BinaryIO

from rushlight.format.buffers import byte_view
from rushlight.format.check import MAX_RANK
from rushlight.format.codecs import flat_tensor_binding
from rushlight.format.decode import decode
from rushlight.format.elements import tensor_nbytes
from rushlight.format.encode import encode
from rushlight.format.errors import EncodeError, FormatError, MalformedError, NewerVersionError
from rushlight.format.flat_tensor import FlatTensor, NamedData, TensorLayout
from rushlight.format.header import (
    FLAT_TENSOR_HEADER_SIZE,
    START,
    FileLayout,
    flat_tensor_header,
    read_flat_tensor_layout,
)
from rushlight.format.segments import (
    NamedDataEntry,
    Piece,
    SegmentWriter,
    add_named,
    align_up,
    read_segments,
    view_of,
    write_pieces,
)

__all__ = ["NamedDataEntry", "read_ptd", "write_ptd", "write_ptd_to_file"]

VERSION = 0
"""The format version of written files, and the newest version that can be read."""


def write_ptd(
    entries: Mapping[str, NamedDataEntry], *, segment_alignment: int = 128, check_layouts: bool = True
) -> bytes:
    """Returns the bytes of a `.ptd` file. They depend only on the entries and their order.

    Equal data are stored once. The data are copied once.

    Args:
        entries: the data by name. An entry with a `tensor_layout` is a dense tensor; other entries are bytes
            without a known structure.
        segment_alignment: the alignment of each entry in bytes, a power of two. An entry may have a larger
            alignment.
        check_layouts: check that the layout of each tensor is valid and fits its data. Without this check,
            the runtime may reject the file.

    Raises:
        FormatError: an entry cannot be written.
    """
    return b"".join(_assemble(entries, segment_alignment, check_layouts))


def write_ptd_to_file(
    entries: Mapping[str, NamedDataEntry],
    target: str | os.PathLike[str] | BinaryIO,
    *,
    segment_alignment: int = 128,
) -> int:
    """Writes a `.ptd` file. A file at the path is replaced atomically, so that no incomplete file remains.

    Args:
        entries: see `write_ptd`.
        target: a path, or an open binary file.
        segment_alignment: see `write_ptd`.

    Returns:
        The number of written bytes.

    Raises:
        FormatError: an entry cannot be written.
        OSError: the file cannot be written.
    """
    return write_pieces(_assemble(entries, segment_alignment, check_layouts=True), target)


def read_ptd(data: object, *, check_layouts: bool = True) -> dict[str, NamedDataEntry]:
    """Reads a `.ptd` file.

    Args:
        data: a buffer object.
        check_layouts: check that the layout of each tensor is valid and fits its data.

    Returns:
        The entries by name. Their data are views of `data`.

    Raises:
        FormatError: the file is invalid.
    """
    try:
        view = byte_view(data)
    except TypeError as error:
        raise FormatError(str(error)) from error
    layout = read_flat_tensor_layout(view)
    root: FlatTensor = decode(flat_tensor_binding(), view[: layout.tables_size])
    if root.version > VERSION:
        raise NewerVersionError(
            f"the file has version {root.version}; versions up to {VERSION} are supported"
        )
    segments = read_segments(view, layout.segment_base, layout.segment_size, root.segments, "FlatTensor")
    entries: dict[str, NamedDataEntry] = {}
    for named in root.named_data:
        if named.key in entries:
            raise MalformedError(
                f"the name {named.key!r} exists twice", table="FlatTensor", field="named_data"
            )
        if named.segment_index >= len(segments):
            reason = (
                f"{named.key!r} is in segment {named.segment_index}, but there are {len(segments)} segments"
            )
            raise MalformedError(reason, table="NamedData", field="segment_index")
        segment = segments[named.segment_index]
        if named.tensor_layout is not None and check_layouts:
            try:
                _check_layout(named.key, named.tensor_layout, segment.nbytes)
            except EncodeError as error:
                raise MalformedError(str(error), table="NamedData", field="tensor_layout") from error
        entries[named.key] = NamedDataEntry(segment, tensor_layout=named.tensor_layout)
    return entries


def _assemble(
    entries: Mapping[str, NamedDataEntry], segment_alignment: int, check_layouts: bool
) -> list[Piece]:
    for key, entry in entries.items():
        if entry.tensor_layout is not None and check_layouts:
            nbytes = view_of(f"named data {key!r}", entry.data).nbytes
            _check_layout(key, entry.tensor_layout, nbytes)
    writer = SegmentWriter(segment_alignment)
    places = add_named(writer, entries)
    named = [NamedData(key, places[key], entry.tensor_layout) for key, entry in entries.items()]
    tables = encode(
        flat_tensor_binding(),
        FlatTensor(VERSION, writer.segments, named),
        header_size=FLAT_TENSOR_HEADER_SIZE,
    )
    base = align_up(len(tables), writer.base_alignment)
    layout = FileLayout(len(tables), base, writer.size)
    tables[START : START + FLAT_TENSOR_HEADER_SIZE] = flat_tensor_header(layout)
    return [tables, bytes(base - len(tables)), *writer.pieces()]


def _check_layout(key: str, layout: TensorLayout, nbytes: int) -> None:
    rank = len(layout.sizes)
    if rank > MAX_RANK:
        raise EncodeError(f"tensor {key!r} has {rank} dimensions; at most {MAX_RANK} are supported")
    if any(size < 0 for size in layout.sizes):
        raise EncodeError(f"tensor {key!r} has a negative size: {layout.sizes}")
    if sorted(layout.dim_order) != list(range(rank)):
        raise EncodeError(f"tensor {key!r} of {rank} dimensions has the invalid dim order {layout.dim_order}")
    needed = tensor_nbytes(layout.scalar_type, layout.sizes)
    if needed is not None and needed != nbytes:
        raise EncodeError(f"tensor {key!r} needs {needed} bytes of data, but has {nbytes}")
