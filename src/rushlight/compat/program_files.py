"""Program files as the classes of `exir._serialize`, in which a program contains constants and payloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rushlight.compat.cord import Cord, CordBuffer
from rushlight.delegate.file_data import FileBackedData
from rushlight.delegate.named_data import DataEntry, NamedDataStoreOutput
from rushlight.format.program import BackendDelegateInlineData, Buffer, DataLocation, Program
from rushlight.format.pte import PTEFile as FormatFile
from rushlight.format.pte import PTELayout, read_pte, write_pte
from rushlight.format.segments import NamedDataEntry


@dataclass
class PTEFile:
    """A program, and data stored outside the program.

    Attributes:
        program: the program, including its constants and the payloads of its delegates.
        mutable_data: the initial values of mutable buffers; the first entry is empty. None if there are no
            values.
        named_data: the named data of backends; None if there is none.
    """

    program: Program
    mutable_data: list[Buffer] | None = None
    named_data: NamedDataStoreOutput | None = None


def serialize_pte_binary(
    pte_file: PTEFile | FormatFile,
    *,
    extract_delegate_segments: bool = False,
    segment_alignment: int = 128,
    constant_tensor_alignment: int | None = None,
    delegate_alignment: int | None = None,
) -> Cord:
    """Returns the bytes of a program file.

    Args:
        pte_file: the program and its data.
        extract_delegate_segments: store payloads in segments behind the program.
        segment_alignment: the alignment of segments in bytes.
        constant_tensor_alignment: the alignment of constants in bytes; None means the default.
        delegate_alignment: the alignment of payloads in bytes; None means the default.

    Raises:
        ValueError: payloads must be stored in segments, but a payload does not belong to a delegate.
        EncodeError: a value does not fit into its field.
    """
    layout = PTELayout(
        segment_alignment=segment_alignment,
        delegate_alignment=delegate_alignment,
        extract_delegate_segments=extract_delegate_segments,
    )
    if constant_tensor_alignment is not None:
        layout = replace(layout, constant_tensor_alignment=constant_tensor_alignment)
    if isinstance(pte_file, PTEFile):
        if extract_delegate_segments:
            _check_payloads(pte_file.program)
        pte_file = _format_file(pte_file)
    return Cord(write_pte(pte_file, layout))


def _check_payloads(program: Program) -> None:
    used = {
        delegate.processed.index
        for plan in program.execution_plan
        for delegate in plan.delegates
        if delegate.processed.location == DataLocation.INLINE
    }
    unused = set(range(len(program.backend_delegate_data))) - used
    if unused:
        raise ValueError(f"the payloads {sorted(unused)} of the program do not belong to a delegate")


def _format_file(file: PTEFile) -> FormatFile:
    named = file.named_data
    data = {} if named is None else {key: named_entry(named.buffers, e) for key, e in named.pte_data.items()}
    return FormatFile(
        replace(file.program, named_data=None),
        mutable_data=[bytes(buffer.storage) for buffer in file.mutable_data or ()],
        named_data=data,
    )


def named_entry(buffers: Sequence[CordBuffer], entry: DataEntry) -> NamedDataEntry:
    """Converts an entry of a named data store to an entry of a program file."""
    data = buffers[entry.buffer_index]
    view = data.view() if isinstance(data, FileBackedData) else data
    return NamedDataEntry(view, max(entry.alignment, 1), entry.tensor_layout)


def deserialize_pte_binary(program_data: bytes) -> PTEFile:
    """Reads a program file.

    Raises:
        FormatError: the file is invalid.
    """
    file = read_pte(program_data)
    program = replace(
        file.program,
        constant_buffer=[Buffer(bytes(data)) for data in file.constants],
        backend_delegate_data=[BackendDelegateInlineData(bytes(data)) for data in file.delegate_data],
        named_data=[],
    )
    mutable = [Buffer(bytes(data)) for data in file.mutable_data]
    return PTEFile(program, mutable or None, _store(file) if file.named_data else None)


def _store(file: FormatFile) -> NamedDataStoreOutput:
    """Returns the named data, in which equal buffers are stored once."""
    index: dict[bytes, int] = {}
    entries = {}
    for key, entry in file.named_data.items():
        place = index.setdefault(bytes(entry.data), len(index))
        entries[key] = DataEntry(place, entry.alignment, entry.tensor_layout)
    return NamedDataStoreOutput(list(index), entries, {})
