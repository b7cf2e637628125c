"""The functions of ExecuTorch's `exir._serialize` and `extension.flat_tensor`, over this package's format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from rushlight.delegate.named_data import DataEntry
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.ptd import read_ptd, write_ptd
from rushlight.format.pte import PTEFile as _PTEFile
from rushlight.format.pte import read_pte, write_pte
from rushlight.format.segments import NamedDataEntry


class Cord:
    """Bytes in several pieces.

    Args:
        data: the first piece.
    """

    def __init__(self, data: bytes | Cord | None = None) -> None:
        self._pieces: list[bytes] = []
        if data is not None:
            self.append(data)

    def append(self, data: bytes | Cord) -> None:
        """Adds a piece at the end."""
        self._pieces.extend(data._pieces if isinstance(data, Cord) else [bytes(data)])

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    def __bytes__(self) -> bytes:
        return b"".join(self._pieces)

    def write_to_file(self, outfile: BinaryIO) -> None:
        """Writes all pieces."""
        for piece in self._pieces:
            outfile.write(piece)


def serialize_pte_binary(
    pte_file: _PTEFile,
    *,
    extract_delegate_segments: bool = False,
    segment_alignment: int = 128,
    constant_tensor_alignment: int | None = None,
    delegate_alignment: int | None = None,
) -> Cord:
    """Returns the bytes of a program file; alignments are in bytes."""
    options: dict[str, Any] = {"delegate_alignment": delegate_alignment}
    if constant_tensor_alignment is not None:
        options["constant_tensor_alignment"] = constant_tensor_alignment
    return Cord(
        write_pte(
            pte_file,
            extract_delegate_segments=extract_delegate_segments,
            segment_alignment=segment_alignment,
            **options,
        )
    )


def deserialize_pte_binary(program_data: bytes) -> _PTEFile:
    """Reads a program file."""
    return read_pte(program_data)


def padding_required(offset: int, alignment: int) -> int:
    """Returns the bytes from an offset to the next multiple of `alignment`."""
    return -offset % alignment


def aligned_size(input_size: int, alignment: int) -> int:
    """Returns the smallest multiple of `alignment` that is at least `input_size`."""
    return input_size + padding_required(input_size, alignment)


def pad_to(data: bytes, length: int) -> bytes:
    """Returns data with zeros at its end, so that it has `length` bytes.

    Raises:
        ValueError: it is longer.
    """
    if len(data) > length:
        raise ValueError(f"data of {len(data)} bytes cannot be padded to {length} bytes")
    return data.ljust(length, b"\0")


@dataclass
class DataPayload:
    """What a data file holds: buffers, and where each name lies among them."""

    buffers: Sequence[bytes]
    named_data: dict[str, DataEntry] = field(default_factory=dict)


@dataclass
class FlatTensorConfig:
    """The alignments of a data file, in bytes."""

    tensor_alignment: int = 16
    segment_alignment: int = 128


class FlatTensorSerializer:
    """Writes and reads .ptd files.

    Args:
        config: the alignments.
    """

    def __init__(self, config: FlatTensorConfig | None = None) -> None:
        self.config = config or FlatTensorConfig()

    def serialize(self, data: DataPayload) -> Cord:
        """Returns the bytes of a .ptd file."""
        entries = {key: _entry(data.buffers, entry) for key, entry in data.named_data.items()}
        return Cord(write_ptd(entries, segment_alignment=self.config.segment_alignment))

    def deserialize(self, blob: Cord | bytes) -> DataPayload:
        """Reads a .ptd file."""
        return _payload(read_ptd(bytes(blob)))

    def deserialize_to_named_data_store_output(self, blob: bytes, name: str) -> Any:
        """Reads a .ptd file as the named data of one external file."""
        from rushlight.delegate.named_data import NamedDataStoreOutput

        payload = self.deserialize(blob)
        return NamedDataStoreOutput(list(payload.buffers), {}, {name: payload.named_data})


def _entry(buffers: Sequence[bytes], entry: DataEntry) -> NamedDataEntry:
    layout: Any = entry.tensor_layout
    return NamedDataEntry(buffers[entry.buffer_index], max(entry.alignment, 1), _layout(layout))


def _layout(layout: Any) -> TensorLayout | None:
    from rushlight.emit.tensors import SCALAR_TYPES

    if layout is None or isinstance(layout, TensorLayout):
        return layout
    return TensorLayout(SCALAR_TYPES[layout.dtype], list(layout.sizes), list(layout.dim_order))


def _payload(entries: Mapping[str, NamedDataEntry]) -> DataPayload:
    buffers: list[bytes] = []
    index: dict[bytes, int] = {}
    named: dict[str, DataEntry] = {}
    for key, entry in entries.items():
        data = bytes(entry.data)
        if data not in index:
            index[data] = len(buffers)
            buffers.append(data)
        named[key] = DataEntry(index[data], entry.alignment, entry.tensor_layout)  # type: ignore[arg-type]
    return DataPayload(buffers, named)
