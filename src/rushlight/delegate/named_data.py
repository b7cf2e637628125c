"""Named data, which backends store in the program file or in separate files, outside their payloads."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import torch

from rushlight.delegate.file_data import FileBackedData
from rushlight.format.flat_tensor import TensorLayout


@dataclass
class DataEntry:
    """An entry for named data.

    Attributes:
        buffer_index: the index of the data in the buffers of the store.
        alignment: the alignment of the data in bytes.
        tensor_layout: the layout if the data are a tensor, or None.
    """

    buffer_index: int
    alignment: int
    tensor_layout: TensorLayout | None = None


@dataclass
class NamedDataStoreOutput:
    """The buffers of a store without duplicates, and the entries that refer to the buffers.

    Attributes:
        buffers: the data. No two buffers are equal.
        pte_data: the entries of the program file, by key.
        external_data: the entries of other files, by file name and key.
    """

    buffers: list[bytes | FileBackedData]
    pte_data: dict[str, DataEntry]
    external_data: dict[str, dict[str, DataEntry]] = field(default_factory=dict)

    @property
    def views(self) -> list[bytes | memoryview]:
        """The bytes of the buffers; a buffer in a file is memory-mapped."""
        return [data.view() if isinstance(data, FileBackedData) else data for data in self.buffers]


def kept_in_file(output: NamedDataStoreOutput, file: str) -> NamedDataStoreOutput:
    """Returns the same data, with the entries of the program file moved to another file."""
    external = {tag: dict(entries) for tag, entries in output.external_data.items()}
    external.setdefault(file, {}).update(output.pte_data)
    return NamedDataStoreOutput(output.buffers, {}, external)


def _layout_of(key: str, tensor: torch.Tensor) -> TensorLayout:
    try:
        return TensorLayout.from_tensor(tensor)
    except ValueError as error:
        raise ValueError(f"{key!r}: {error}") from None


class NamedDataStore:
    """Collects data by name. Each key is unique, and equal data are stored once."""

    def __init__(self) -> None:
        self.buffers: list[bytes | FileBackedData] = []
        self.pte_data: dict[str, DataEntry] = {}
        self.external_data: dict[str, dict[str, DataEntry]] = {}
        self._index_of_digest: dict[bytes, int] = {}
        self.key_to_buffer_idx: dict[str, int] = {}

    def add_named_data(
        self,
        key: str,
        data: bytes | FileBackedData | torch.Tensor,
        alignment: int | None = 1,
        external_tag: str | None = None,
        tensor_layout: TensorLayout | None = None,
    ) -> None:
        """Stores data under a key.

        Args:
            key: the name.
            data: bytes, bytes in a file, or a tensor.
            alignment: the alignment in bytes. None means 1.
            external_tag: the name of a separate file, or None for the program file.
            tensor_layout: the layout in which a tensor is stored, or the layout of a tensor given as bytes.
                By default, a given tensor keeps its own layout.

        Raises:
            ValueError: the key already has other data, the alignment is not positive, the sizes of the tensor
                and of the layout differ, or the tensor is neither row-major nor channels last.
        """
        alignment = 1 if alignment is None else alignment
        if alignment < 1:
            raise ValueError(f"alignment of {key!r} is {alignment}; it must be positive")
        if isinstance(data, torch.Tensor):
            tensor = data.detach()
            layout = _layout_of(key, tensor)
            if tensor_layout is not None and list(tensor_layout.sizes) != list(layout.sizes):
                raise ValueError(
                    f"{key!r} has the sizes {list(tensor.shape)}, not {list(tensor_layout.sizes)}"
                )
            tensor_layout = tensor_layout or layout
            dense = tensor.permute(tensor_layout.dim_order).contiguous()
            data = dense.flatten().view(torch.uint8).numpy().tobytes() if dense.numel() else b""
        digest = data.sha256() if isinstance(data, FileBackedData) else hashlib.sha256(data).digest()
        self._add(key, data, digest, alignment, external_tag, tensor_layout)

    def add_by_content(
        self, data: bytes, alignment: int = 1, prefix: str = "", external_tag: str | None = None
    ) -> str:
        """Stores data under a key that is made from the SHA-256 digest of the data.

        Args:
            data: the bytes.
            alignment: the alignment in bytes.
            prefix: the start of the key.
            external_tag: the name of a separate file, or None for the program file.

        Returns:
            The key: the prefix and the SHA-256 digest in hexadecimal digits.
        """
        digest = hashlib.sha256(data).digest()
        key = prefix + digest.hex()
        self._add(key, data, digest, alignment, external_tag, None)
        return key

    def _add(
        self,
        key: str,
        data: bytes | FileBackedData,
        digest: bytes,
        alignment: int,
        external_tag: str | None,
        tensor_layout: TensorLayout | None,
    ) -> None:
        index = self._index_of_digest.setdefault(digest, len(self.buffers))
        if self.key_to_buffer_idx.setdefault(key, index) != index:
            raise ValueError(
                f"key {key!r} already has other data, so the {len(data)} bytes of new data need another key"
            )
        if index == len(self.buffers):
            self.buffers.append(data)
        entries = self.external_data.setdefault(external_tag, {}) if external_tag else self.pte_data
        known = entries.get(key)
        if known is not None:
            alignment = math.lcm(known.alignment, alignment)
        entries[key] = DataEntry(index, alignment, tensor_layout)

    def externalize_pte_data(self, max_data_bytes: int, tag_prefix: str) -> None:
        """Moves the data of the program file to other files, in the order of the keys.

        Args:
            max_data_bytes: the maximum number of data bytes in a file. Data with several keys count once.
            tag_prefix: the start of the file names. Each file name ends with a digest of the keys in the
                file.

        Raises:
            ValueError: `max_data_bytes` is not a positive integer, `tag_prefix` is empty, one data item has
                more than `max_data_bytes`, or a file of this name already has other data.
        """
        if isinstance(max_data_bytes, bool) or not isinstance(max_data_bytes, int) or max_data_bytes < 1:
            raise ValueError(f"max_data_bytes is {max_data_bytes!r}; it must be a positive integer")
        if not tag_prefix:
            raise ValueError("tag_prefix must be nonempty: the names of the files start with it")
        groups: dict[int, list[str]] = {}
        for key in sorted(self.pte_data):
            groups.setdefault(self.pte_data[key].buffer_index, []).append(key)
        files: list[list[str]] = []
        remaining = 0
        for index, keys in groups.items():
            size = len(self.buffers[index])
            if size > max_data_bytes:
                raise ValueError(
                    f"{keys[0]!r} has {size} bytes, which exceeds external data shard cap "
                    f"(max_data_bytes={max_data_bytes})"
                )
            if not files or size > remaining:
                files.append([])
                remaining = max_data_bytes
            files[-1] += keys
            remaining -= size
        external = {tag: dict(entries) for tag, entries in self.external_data.items()}
        for file in files:
            tag = f"{tag_prefix}_{hashlib.sha256(chr(0).join(sorted(file)).encode()).hexdigest()}"
            entries = {key: self.pte_data[key] for key in sorted(file)}
            if external.setdefault(tag, entries) != entries:
                raise ValueError(f"external data tag collision: the file {tag!r} has other data already")
        self.external_data, self.pte_data = external, {}

    def get_named_data_store_output(self) -> NamedDataStoreOutput:
        """Returns the stored data."""
        return NamedDataStoreOutput(self.buffers, self.pte_data, self.external_data)

    def merge_named_data_store(self, other: NamedDataStoreOutput) -> None:
        """Adds all data of another store.

        Raises:
            ValueError: a key already has other data.
        """
        for key, entry in other.pte_data.items():
            data = other.buffers[entry.buffer_index]
            self.add_named_data(key, data, entry.alignment, None, entry.tensor_layout)
        for tag, entries in other.external_data.items():
            for key, entry in entries.items():
                data = other.buffers[entry.buffer_index]
                self.add_named_data(key, data, entry.alignment, tag, entry.tensor_layout)
