"""The functions of ExecuTorch's `exir._serialize` and `extension.flat_tensor`."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rushlight.compat.cord import Cord as Cord
from rushlight.compat.cord import CordBuffer
from rushlight.compat.program_files import PTEFile as PTEFile
from rushlight.compat.program_files import deserialize_pte_binary as deserialize_pte_binary
from rushlight.compat.program_files import named_entry
from rushlight.compat.program_files import serialize_pte_binary as serialize_pte_binary
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.delegate.named_data import DataEntry, NamedDataStoreOutput
from rushlight.emit.program import EmitterOutput
from rushlight.format.ptd import read_ptd, write_ptd
from rushlight.format.segments import NamedDataEntry


def padding_required(offset: int, alignment: int) -> int:
    """Returns the number of bytes from an offset to the next multiple of `alignment`."""
    return -offset % alignment


def aligned_size(input_size: int, alignment: int) -> int:
    """Returns the smallest multiple of `alignment` that is at least `input_size`."""
    return input_size + padding_required(input_size, alignment)


def pad_to(data: bytes, length: int) -> bytes:
    """Returns data padded with zeros to `length` bytes.

    Raises:
        ValueError: the data is longer.
    """
    if len(data) > length:
        raise ValueError(f"data of {len(data)} bytes cannot be padded to {length} bytes")
    return data.ljust(length, b"\0")


@dataclass
class DataPayload:
    """The content of a data file: buffers, and for each name the index of its buffer."""

    buffers: Sequence[CordBuffer]
    named_data: dict[str, DataEntry] = field(default_factory=dict)


@dataclass
class FlatTensorConfig:
    """The alignments of a data file, in bytes."""

    tensor_alignment: int = 16
    segment_alignment: int = 128


class DataSerializer(ABC):
    """The base class of serializers, which write and read data files in a format."""

    @abstractmethod
    def serialize(self, data: DataPayload) -> Cord:
        """Returns the bytes of a file."""

    @abstractmethod
    def deserialize(self, blob: Cord) -> DataPayload:
        """Reads a file."""


class FlatTensorSerializer(DataSerializer):
    """Writes and reads .ptd files. Tensor layouts are not checked; the runtime checks them at load.

    Args:
        config: the alignments.
    """

    def __init__(self, config: FlatTensorConfig | None = None) -> None:
        self.config = config or FlatTensorConfig()

    def serialize(self, data: DataPayload) -> Cord:
        """Returns the bytes of a .ptd file."""
        entries = {key: named_entry(data.buffers, entry) for key, entry in data.named_data.items()}
        alignment = self.config.segment_alignment
        return Cord(write_ptd(entries, segment_alignment=alignment, check_layouts=False))

    def deserialize(self, blob: Cord | bytes) -> DataPayload:
        """Reads a .ptd file."""
        return _payload(read_ptd(bytes(blob), check_layouts=False))

    def deserialize_to_named_data_store_output(self, blob: bytes, name: str) -> Any:
        """Reads a .ptd file as the external data of a named data store, under the file name `name`."""
        payload = self.deserialize(blob)
        return NamedDataStoreOutput(list(payload.buffers), {}, {name: payload.named_data})


def serialize_for_executorch(
    emitter_output: EmitterOutput,
    config: ExecutorchBackendConfig,
    data_serializer: DataSerializer,
    named_data_store: NamedDataStoreOutput | None = None,
) -> tuple[Cord, dict[str, Cord]]:
    """Serializes an emitted program and its data files.

    Args:
        emitter_output: the program, with its external constants.
        config: the alignments, and whether payloads are stored in segments.
        data_serializer: the serializer of the data files.
        named_data_store: additional named data for the program file and for data files.

    Returns:
        The program file, and the data files by their names without a suffix.

    Raises:
        ValueError: a name is in both the program and the named data.
    """
    file = copy.copy(emitter_output.pte)
    file.named_data = dict(file.named_data)
    files = {tag: dict(entries) for tag, entries in emitter_output.external_constants.items()}
    if named_data_store is not None:
        _add_all(file.named_data, named_data_store.buffers, named_data_store.pte_data)
        for tag, entries in named_data_store.external_data.items():
            _add_all(files.setdefault(tag, {}), named_data_store.buffers, entries)
    program = serialize_pte_binary(
        file,
        extract_delegate_segments=config.extract_delegate_segments,
        segment_alignment=config.segment_alignment,
        constant_tensor_alignment=config.constant_tensor_alignment,
        delegate_alignment=config.delegate_alignment,
    )
    return program, {tag: data_serializer.serialize(_payload(entries)) for tag, entries in files.items()}


def _add_all(
    known: dict[str, NamedDataEntry], buffers: Sequence[CordBuffer], entries: Mapping[str, DataEntry]
) -> None:
    for key, entry in entries.items():
        if key in known:
            raise ValueError(f"the program and the named data both have {key!r}")
        known[key] = named_entry(buffers, entry)


def _payload(entries: Mapping[str, NamedDataEntry]) -> DataPayload:
    buffers: list[bytes] = []
    index: dict[bytes, int] = {}
    named: dict[str, DataEntry] = {}
    for key, entry in entries.items():
        data = bytes(entry.data)
        if data not in index:
            index[data] = len(buffers)
            buffers.append(data)
        named[key] = DataEntry(index[data], entry.alignment, entry.tensor_layout)
    return DataPayload(buffers, named)
