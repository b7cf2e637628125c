"""Reads and writes `.pte` files.

A file contains the tables of a program, and then segments with constants, initial values, delegate data and
named data.
"""

from __future__ import annotations

import copy
import hashlib
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from rushlight.format.buffers import byte_view
from rushlight.format.check import check_program
from rushlight.format.codecs import program_binding
from rushlight.format.constants import constant_users, locate
from rushlight.format.decode import decode
from rushlight.format.encode import encode
from rushlight.format.errors import EncodeError, FormatError, MalformedError, NewerVersionError
from rushlight.format.header import (
    PROGRAM_HEADER_SIZE,
    START,
    FileLayout,
    program_header,
    read_program_layout,
)
from rushlight.format.program import (
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    DataLocation,
    EValue,
    ExecutionPlan,
    NamedData,
    Program,
    SubsegmentOffsets,
    Tensor,
)
from rushlight.format.segments import (
    Deduplicator,
    NamedDataEntry,
    Piece,
    SegmentWriter,
    add_named,
    align_up,
    check_alignment,
    read_segments,
    view_of,
    write_pieces,
)

__all__ = [
    "MAX_VERSION",
    "NamedDataEntry",
    "PTEFile",
    "PTELayout",
    "program_fingerprint",
    "read_pte",
    "write_pte",
    "write_pte_to_file",
]

# The newest supported version of the schema.
MAX_VERSION = 0

SHARED_MEMORY_KEY = "rushlight.shared_memory"
"""The name of the data that list the memory ids that the methods of a program share, as uint32."""

DIGEST_KEY = "rushlight.sha256"
"""The name of the digest in the named data. Its segment is the last one; it covers all bytes before it."""


@dataclass
class PTEFile:
    """A program and its data, before the data are placed in segments.

    All data are buffer objects, such as bytes, memoryviews and numpy arrays.

    Attributes:
        program: the tables. Their segment fields are empty. `constant_buffer` and `backend_delegate_data` are
            usually empty; if they are not, they replace `constants` and `delegate_data`.
        constants: the constants. `data_buffer_idx` of a constant tensor is an index in this list. Entry 0 is
            reserved and empty.
        mutable_data: the initial values. `data_buffer_idx` of a planned tensor with an initial value is an
            index in this list. Entry 0 is reserved and empty.
        delegate_data: the payloads. `processed.index` of a delegate is an index in this list.
        named_data: the named data.
        digest: whether the file contains a SHA-256 digest of its bytes. It is computed when the file is
            written.
    """

    program: Program
    constants: list[Any] = field(default_factory=list)
    mutable_data: list[Any] = field(default_factory=list)
    delegate_data: list[Any] = field(default_factory=list)
    named_data: dict[str, NamedDataEntry] = field(default_factory=dict)
    digest: bool = False


@dataclass(frozen=True)
class PTELayout:
    """Where the data of a program are in its file. Alignments are powers of two, in bytes.

    Attributes:
        constant_tensor_alignment: the alignment of each constant.
        segment_alignment: the alignment of each segment.
        delegate_alignment: the alignment of the data of each delegate; None for no alignment.
        extract_delegate_segments: whether delegate data are in segments. Otherwise they are in the tables.
    """

    constant_tensor_alignment: int = 16
    segment_alignment: int = 128
    delegate_alignment: int | None = None
    extract_delegate_segments: bool = True


_DEFAULT_LAYOUT = PTELayout()


def write_pte(file: PTEFile, layout: PTELayout = _DEFAULT_LAYOUT) -> bytes:
    """Returns the bytes of a `.pte` file. They depend only on the arguments.

    Equal constants are stored once. The data are copied once. `file` is not changed.

    Args:
        file: the contents.
        layout: where the data are in the file.

    Raises:
        FormatError: the contents are invalid.
    """
    return b"".join(_assemble(file, layout))


def write_pte_to_file(
    file: PTEFile, target: str | os.PathLike[str] | BinaryIO, layout: PTELayout = _DEFAULT_LAYOUT
) -> int:
    """Writes a `.pte` file without copying the data.

    A file at the path is replaced atomically, so that no incomplete file remains.

    Args:
        file: the contents.
        target: a path, or an open binary file.
        layout: where the data are in the file.

    Returns:
        The number of written bytes.

    Raises:
        FormatError: the contents are invalid.
        OSError: the file cannot be written.
    """
    return write_pieces(_assemble(file, layout), target)


BUNDLE_IDENTIFIER = b"BP08"
"""The file identifier of a bundled program, in the bytes [4, 8)."""


def refuse_bundled_program(path: Path, data: bytes) -> None:
    """Checks that a file is not a bundled program. Only `executor_runner` runs these.

    Args:
        path: the name of the file, for the message.
        data: the first 8 or more bytes of the file.

    Raises:
        FormatError: the file is a bundled program.
    """
    if data[4:8] == BUNDLE_IDENTIFIER:
        raise FormatError(
            f"{path} is a bundled program, not a .pte file: "
            f"`executor_runner --bundled_program_path {path}` runs its test cases"
        )


def read_pte_file(path: Path) -> PTEFile:
    """Reads a `.pte` file from a path.

    Raises:
        FormatError: the file is not a program, or it is damaged. The message names the file.
        OSError: the file cannot be read.
    """
    data = path.read_bytes()
    refuse_bundled_program(path, data)
    try:
        return read_pte(data)
    except FormatError as error:
        is_program = data[4:8] == program_binding().schema.identifier
        reason = "the program is damaged" if is_program else "not a .pte file"
        raise FormatError(f"{path}: {reason}: {error}") from error


def read_pte(data: object) -> PTEFile:
    """Reads a `.pte` file. Old files, which have constants in the tables, are supported.

    Args:
        data: a buffer object.

    Returns:
        The contents. Their data are views of `data`.

    Raises:
        FormatError: the file is invalid.
    """
    try:
        view = byte_view(data)
    except TypeError as error:
        raise FormatError(str(error)) from error
    layout = read_program_layout(view)
    program: Program = decode(program_binding(), view[: layout.tables_size])
    if program.version > MAX_VERSION:
        raise NewerVersionError(
            f"the file has version {program.version}; versions up to {MAX_VERSION} are supported"
        )
    segments = read_segments(view, layout.segment_base, layout.segment_size, program.segments, "Program")
    check_program(program)
    file = PTEFile(
        replace(
            program,
            constant_buffer=[],
            backend_delegate_data=[],
            segments=[],
            constant_segment=SubsegmentOffsets(0, []),
            mutable_data_segments=None,
            named_data=None,
        )
    )
    file.constants = _read_constants(program, segments)
    file.mutable_data = _read_mutable_data(program, segments)
    file.delegate_data = _read_delegates(file.program, program.backend_delegate_data, segments)
    for entry in program.named_data or []:
        if entry.key == DIGEST_KEY:
            file.digest = True
            continue
        if entry.key in file.named_data:
            raise MalformedError(f"the name {entry.key!r} exists twice", table="Program", field="named_data")
        file.named_data[entry.key] = NamedDataEntry(_segment(segments, entry.segment_index, "named_data"))
    return file


def has_data_among_tables(data: object) -> bool:
    """Returns whether a `.pte` file has constants or payloads in its tables. Old files have them there.

    Args:
        data: a buffer object with a `.pte` file.

    Raises:
        FormatError: the file is invalid.
    """
    view = byte_view(data)
    program: Program = decode(program_binding(), view[: read_program_layout(view).tables_size])
    constants = any(len(buffer.storage) for buffer in program.constant_buffer)
    return constants or any(len(blob.data) for blob in program.backend_delegate_data)


def program_fingerprint(data: object) -> int:
    """Returns a number that identifies a program. The runtime writes this number to event traces.

    The lower 32 bits are the CRC-32 of the program's tables. The upper 32 bits are the size of the tables in
    bytes. The data segments are not included: programs that differ only in weights may have the same
    fingerprint.

    Args:
        data: a buffer object with a `.pte` file.

    Raises:
        FormatError: the header of the file is invalid.
    """
    try:
        view = byte_view(data)
    except TypeError as error:
        raise FormatError(str(error)) from error
    size = read_program_layout(view).tables_size
    return size << 32 | zlib.crc32(view[:size])


def _assemble(file: PTEFile, layout: PTELayout) -> list[Piece]:
    """Returns the file as pieces, in the order in which they are written."""
    check_alignment("constant_tensor_alignment", layout.constant_tensor_alignment)
    if layout.delegate_alignment is not None:
        check_alignment("delegate_alignment", layout.delegate_alignment)
    _check_contents(file)
    program = file.program
    # The plans belong to the caller. They are replaced by copies, and not changed.
    program = copy.copy(program)
    program.execution_plan = list(program.execution_plan)
    writer = SegmentWriter(layout.segment_alignment)
    _add_constants(file, program, writer, layout.constant_tensor_alignment)
    _add_mutable_data(file, program, writer)
    _add_delegates(file, program, writer, layout.extract_delegate_segments, layout.delegate_alignment or 1)
    places = add_named(writer, file.named_data)
    digest = bytearray(32 if file.digest else 0)
    if file.digest:
        places[DIGEST_KEY] = len(writer.segments)
        writer.add([memoryview(digest)])
    program.named_data = [NamedData(key, place) for key, place in places.items()] or None
    program.segments = writer.segments
    table_alignment = layout.delegate_alignment or 0
    if writer.size == 0:
        return [encode(program_binding(), program, align=table_alignment)]
    tables = encode(program_binding(), program, header_size=PROGRAM_HEADER_SIZE, align=table_alignment)
    base = align_up(len(tables), writer.base_alignment)
    header = program_header(FileLayout(len(tables), base, writer.size))
    tables[START : START + PROGRAM_HEADER_SIZE] = header
    pieces: list[Piece] = [tables, bytes(base - len(tables)), *writer.pieces()]
    if file.digest:
        covered = hashlib.sha256()
        for piece in pieces[:-1]:
            covered.update(piece)
        digest[:] = covered.digest()
    return pieces


def _check_contents(file: PTEFile) -> None:
    """Checks what the writer requires of the program and the names of its data.

    Raises:
        EncodeError: the contents cannot be written.
    """
    program = file.program
    if not 0 <= program.version <= MAX_VERSION:
        raise EncodeError(
            f"version {program.version} cannot be written; versions up to {MAX_VERSION} are supported"
        )
    if program.segments or program.constant_segment.offsets or program.mutable_data_segments:
        raise EncodeError("the program already refers to segments; pass its data in PTEFile instead")
    if program.named_data:
        raise EncodeError("the program already has named data; pass them in PTEFile.named_data instead")
    check_program(program)
    if DIGEST_KEY in file.named_data:
        raise EncodeError(f"the name {DIGEST_KEY!r} is reserved for the digest; set PTEFile.digest instead")


def _either(name: str, given: list[Any], inside: list[Any]) -> list[Any]:
    if given and inside:
        raise EncodeError(f"{name} are both in PTEFile and in the tables of the program; remove one of them")
    return given or inside


def _add_constants(file: PTEFile, program: Program, writer: SegmentWriter, alignment: int) -> None:
    inside = [buffer.storage for buffer in program.constant_buffer]
    given = _either("constants", file.constants, inside)
    views = [view_of(f"constant {i}", data) for i, data in enumerate(given)]
    program.constant_buffer = []
    if views and views[0].nbytes:
        raise EncodeError("constant 0 is reserved and must be empty")
    _check_sizes(constant_users(program), views, "constant")
    known = Deduplicator()
    unique: list[memoryview] = []
    numbers: list[int] = []
    for i, view in enumerate(views):
        # The reserved entry is never shared.
        number = known.find(view, len(unique)) if i else 0
        if number == len(unique):
            unique.append(view)
        numbers.append(number)
    if len(unique) < len(views):
        program.execution_plan = [_renumbered(plan, numbers) for plan in program.execution_plan]
    if unique:
        index = len(writer.segments)
        offsets = writer.add(unique, alignment=alignment, part_alignment=alignment)
        program.constant_segment = SubsegmentOffsets(index, offsets)


def _renumbered(plan: ExecutionPlan, numbers: Sequence[int]) -> ExecutionPlan:
    values = []
    for value in plan.values:
        tensor = value.val
        if (
            isinstance(tensor, Tensor)
            and tensor.allocation_info is None
            and tensor.data_buffer_idx < len(numbers)
        ):
            number = numbers[tensor.data_buffer_idx]
            if number != tensor.data_buffer_idx:
                value = EValue(replace(tensor, data_buffer_idx=number))
        values.append(value)
    return replace(plan, values=values)


def _add_mutable_data(file: PTEFile, program: Program, writer: SegmentWriter) -> None:
    program.mutable_data_segments = None
    views = [view_of(f"mutable data {i}", data) for i, data in enumerate(file.mutable_data)]
    _check_sizes(constant_users(program, is_mutable=True), views, "mutable data")
    if any(view.nbytes for view in views):
        index = len(writer.segments)
        program.mutable_data_segments = [SubsegmentOffsets(index, writer.add(views))]


def _check_sizes(users: dict[int, tuple[str, int | None]], views: Sequence[memoryview], what: str) -> None:
    for index, (user, nbytes) in users.items():
        if index >= len(views):
            raise EncodeError(f"{user} uses {what} {index}, but there are {len(views)}")
        if nbytes is not None and nbytes > views[index].nbytes:
            raise EncodeError(
                f"{user} needs {nbytes} bytes of {what} {index}, which has {views[index].nbytes}"
            )


def _add_delegates(
    file: PTEFile, program: Program, writer: SegmentWriter, as_segments: bool, alignment: int
) -> None:
    inside = [inline.data for inline in program.backend_delegate_data]
    data = _either("delegate data", file.delegate_data, inside)
    program.backend_delegate_data = []
    known = Deduplicator()
    # The reference to each used entry of `data`, by its index.
    places: dict[int, BackendDelegateDataReference] = {}

    def place(index: int) -> BackendDelegateDataReference:
        if index in places:
            return places[index]
        view = view_of(f"delegate data {index}", data[index])
        first = known.find(view, index)
        if first != index:
            return places[first]
        if as_segments and view.nbytes:
            reference = BackendDelegateDataReference(DataLocation.SEGMENT, len(writer.segments))
            writer.add([view], alignment=alignment)
        else:
            inline = program.backend_delegate_data
            reference = BackendDelegateDataReference(DataLocation.INLINE, len(inline))
            inline.append(BackendDelegateInlineData(view))  # type: ignore[arg-type]
        places[index] = reference
        return reference

    plans = []
    for plan in program.execution_plan:
        delegates = []
        for delegate in plan.delegates:
            index = delegate.processed.index
            if delegate.processed.location != DataLocation.INLINE or not 0 <= index < len(data):
                raise EncodeError(
                    f"method {plan.name!r}: delegate {delegate.id!r} refers to {delegate.processed}, but "
                    f"there are {len(data)} entries of delegate data"
                )
            delegates.append(replace(delegate, processed=place(index)))
        plans.append(replace(plan, delegates=delegates) if delegates else plan)
    program.execution_plan = plans


def _segment(segments: Sequence[memoryview], index: int, field_name: str) -> memoryview:
    if index >= len(segments):
        reason = f"segment {index} does not exist; there are {len(segments)} segments"
        raise MalformedError(reason, table="Program", field=field_name)
    return segments[index]


def _read_constants(program: Program, segments: Sequence[memoryview]) -> list[Any]:
    users = constant_users(program)
    place = program.constant_segment
    if place.offsets:
        if program.constant_buffer:
            raise MalformedError(
                "constants are both in a segment and in the tables", table="Program", field="constant_buffer"
            )
        segment = _segment(segments, place.segment_index, "constant_segment")
        return locate(segment, place.offsets, users, "constant")
    constants = [memoryview(buffer.storage) for buffer in program.constant_buffer]
    try:
        _check_sizes(users, constants, "constant")
    except EncodeError as error:
        raise MalformedError(str(error), table="Program", field="constant_buffer") from error
    return list(constants)


def _read_mutable_data(program: Program, segments: Sequence[memoryview]) -> list[Any]:
    places = program.mutable_data_segments or []
    if len(places) > 1:
        reason = f"there are {len(places)} segments of initial values; only one is supported"
        raise MalformedError(reason, table="Program", field="mutable_data_segments")
    users = constant_users(program, is_mutable=True)
    segment = (
        _segment(segments, places[0].segment_index, "mutable_data_segments") if places else memoryview(b"")
    )
    return locate(segment, places[0].offsets if places else [], users, "mutable data")


def _read_delegates(
    program: Program, inline: Sequence[BackendDelegateInlineData], segments: Sequence[memoryview]
) -> list[Any]:
    """Returns the delegate data in the order of first use.

    Also changes all references in `program` to inline references.
    """
    data: list[object] = []
    places: dict[tuple[DataLocation, int], int] = {}
    for plan in program.execution_plan:
        for delegate in plan.delegates:
            reference = delegate.processed
            key = (reference.location, reference.index)
            if key not in places:
                places[key] = len(data)
                if reference.location == DataLocation.SEGMENT:
                    data.append(_segment(segments, reference.index, "execution_plan"))
                elif reference.index < len(inline):
                    data.append(inline[reference.index].data)
                else:
                    reason = f"delegate {delegate.id!r} refers to {reference}, but there are {len(inline)}"
                    raise MalformedError(reason, table="BackendDelegate", field="processed")
            delegate.processed = BackendDelegateDataReference(DataLocation.INLINE, places[key])
    return data
