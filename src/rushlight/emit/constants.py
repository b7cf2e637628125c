"""The constant data of a program. Equal data are stored once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from rushlight.format.segments import Deduplicator, NamedDataEntry

Data = memoryview


def tensor_bytes(tensor: torch.Tensor) -> Data:
    """Returns a copy of the elements of a dense tensor, in memory order.

    The model may change its parameters and buffers after it was compiled.
    """
    if tensor.numel() == 0:
        return memoryview(b"")
    tensor = tensor.detach().cpu()
    raw = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
    start = tensor.storage_offset() * tensor.element_size()
    array: Any = raw[start : start + tensor.numel() * tensor.element_size()].numpy()
    return memoryview(array.copy())


@dataclass(slots=True)
class Pool:
    """A list of byte strings without duplicates. Index 0 is reserved for "no data"."""

    items: list[Data] = field(default_factory=lambda: [memoryview(b"")])
    _known: Deduplicator = field(default_factory=Deduplicator)

    def add(self, data: Data) -> int:
        """Returns the index of `data`. New data are appended to the list."""
        index = self._known.find(data, len(self.items))
        if index == len(self.items):
            self.items.append(data)
        return index


@dataclass(slots=True)
class ConstantBuffers:
    """All constant data of a program.

    Attributes:
        file: the constants in the program file.
        state: the initial values of mutable buffers.
        external: the tensors in other files, by file and tensor name.
        named: the named data.
        delegates: the payloads of delegates.
    """

    file: Pool = field(default_factory=Pool)
    state: Pool = field(default_factory=Pool)
    external: dict[str, dict[str, NamedDataEntry]] = field(default_factory=dict)
    named: dict[str, NamedDataEntry] = field(default_factory=dict)
    delegates: list[Data] = field(default_factory=list)
    _known_delegates: Deduplicator = field(default_factory=Deduplicator)

    def add_delegate(self, processed: Data) -> int:
        """Returns the index of a delegate's payload. Equal payloads are stored once."""
        index = self._known_delegates.find(processed, len(self.delegates))
        if index == len(self.delegates):
            self.delegates.append(processed)
        return index
