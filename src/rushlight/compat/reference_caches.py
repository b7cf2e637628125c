"""Caches of keys and values outside of a program: of one sequence, and of sequences that share tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import torch
from typing_extensions import override

MAX_SEQS = 63
"""The number of sequences of a cache. A sequence is a bit of an int64 without its sign."""


class CacheSizing(Enum):
    """When a cache gets memory: for its capacity at the first step, or for the tokens that it contains."""

    STATIC = "static"
    DYNAMIC = "dynamic"


class LayerKind(Enum):
    """Which tokens a layer attends to: all earlier ones, or those of a sliding window."""

    FLAT = "flat"
    RING = "ring"


@dataclass(frozen=True)
class LayerPolicy:
    """Which tokens a layer attends to. `window` is the number of positions of a RING, and 0 for FLAT.

    Raises:
        ValueError: the window does not fit the kind.
    """

    kind: LayerKind = LayerKind.FLAT
    window: int = 0

    def __post_init__(self) -> None:
        if self.window < 0 or (self.kind is LayerKind.RING) != (self.window > 0):
            raise ValueError(f"a layer of {self.kind} cannot have window={self.window}")

    @classmethod
    def flat(cls) -> LayerPolicy:
        """Returns the policy of a layer that attends to all earlier tokens."""
        return cls()

    @classmethod
    def ring(cls, window: int) -> LayerPolicy:
        """Returns the policy of a layer that attends to the last `window` positions."""
        return cls(LayerKind.RING, window)


@dataclass
class CacheConfig:
    """The sizes of a cache.

    Attributes:
        n_layers: the number of layers.
        n_kv_heads: the number of heads of keys and values.
        head_dim: the size of a key.
        capacity: the largest number of tokens in the cache.
        sizing: when the cache gets memory.
        dtype: the dtype of the stored keys and values.
        batch_size: the number of sequences that advance together.
        layers: the policy of each layer, or one policy for all layers.

    Raises:
        ValueError: the capacity is not positive, or the number of policies is wrong.
    """

    n_layers: int
    n_kv_heads: int
    head_dim: int
    capacity: int
    sizing: CacheSizing = CacheSizing.DYNAMIC
    dtype: torch.dtype = torch.float32
    batch_size: int = 1
    layers: Sequence[LayerPolicy] = (LayerPolicy(),)

    def __post_init__(self) -> None:
        if self.capacity <= 0:
            raise ValueError(f"the capacity of a cache must be positive, not {self.capacity}")
        if len(self.layers) not in (1, self.n_layers):
            raise ValueError(
                f"{self.n_layers} layers need one policy or {self.n_layers}, not {len(self.layers)}"
            )

    def policy_for(self, layer_id: int) -> LayerPolicy:
        """Returns the policy of a layer."""
        return self.layers[0 if len(self.layers) == 1 else layer_id]


class MaskKind(Enum):
    """Which of n keys a query attends to: all, those up to the same place, or those of a tensor."""

    NONE = "none"
    CAUSAL = "causal"
    EXPLICIT = "explicit"


@dataclass
class AttendSpec:
    """A mask. For EXPLICIT, `mask` is bool [queries, keys], true where a query attends to a key."""

    kind: MaskKind
    mask: torch.Tensor | None = None


def causal_mask(queries: torch.Tensor, keys: torch.Tensor, window: int) -> torch.Tensor:
    """Returns whether a key is not later than a query, nor earlier than its window.

    Args:
        queries: the position of each query, int64 [queries].
        keys: the position of each key, int64 [keys].
        window: the number of positions of the window; 0 means no window.

    Returns:
        bool [queries, keys].
    """
    distance = queries.unsqueeze(1) - keys
    return (distance >= 0) & (distance < window) if window else distance >= 0


class Cache(ABC):
    """The keys and values of all layers, one row for each token. `reset` removes all tokens."""

    def __init__(self, config: CacheConfig) -> None:
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Removes all tokens."""
        self._layers: list[list[torch.Tensor]] = [[] for _ in range(self.config.n_layers)]

    @abstractmethod
    def update_and_fetch(
        self, layer_id: int, k: torch.Tensor, v: torch.Tensor, position: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, AttendSpec]:
        """Stores new tokens in a layer.

        Args:
            layer_id: the number of the layer.
            k: the new keys, [batch, heads, tokens, size].
            v: the new values, [batch, heads, tokens, value size].
            position: the position of each token in its sequence, int64 [tokens, 1].

        Returns:
            The keys [batch, heads, rows, size] and values of the layer, which share memory with the cache,
            and the mask of the new tokens.

        Raises:
            RuntimeError: the tokens do not fit, or were not declared.
            ValueError: a shape does not fit the configuration.
        """

    def _write(
        self, layer_id: int, rows: torch.Tensor | slice, end: int, k: torch.Tensor, v: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Stores keys and values in rows, and returns the first `end` rows."""
        config = self.config
        expected = (config.batch_size, config.n_kv_heads, k.shape[2], config.head_dim)
        if k.shape != expected or v.shape[:3] != expected[:3]:
            raise ValueError(
                f"the cache needs keys {list(expected)}, not {list(k.shape)} with values {list(v.shape)}"
            )
        parts = self._layers[layer_id]
        if not parts:
            parts[:] = [
                part.new_zeros(*part.shape[:2], 0, part.shape[3], dtype=config.dtype) for part in (k, v)
            ]
        if (missing := end - (length := parts[0].shape[2])) > 0:
            most = config.capacity - length
            more = most if config.sizing is CacheSizing.STATIC else min(max(missing, length), most)
            parts[:] = [torch.nn.functional.pad(part, (0, 0, 0, more)) for part in parts]
        for part, new in zip(parts, (k, v), strict=True):
            part[:, :, rows] = new.detach().to(config.dtype)
        return parts[0][:, :, :end], parts[1][:, :, :end]


class ContiguousReferenceCache(Cache):
    """A cache of one sequence, or of a batch of sequences of the same length.

    New tokens follow the earlier ones, whatever their positions are.

    Args:
        config: the sizes.
    """

    @override
    def reset(self) -> None:
        super().reset()
        self._used = [0] * self.config.n_layers

    def used(self, layer_id: int) -> int:
        """Returns the number of tokens in a layer."""
        return self._used[layer_id]

    @override
    def update_and_fetch(
        self, layer_id: int, k: torch.Tensor, v: torch.Tensor, position: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, AttendSpec]:
        start, count = self._used[layer_id], k.shape[2]
        end = start + count
        if end > self.config.capacity:
            raise RuntimeError(
                f"layer {layer_id} has {start} tokens and gets {count} more than {self.config.capacity} allow"
            )
        keys, values = self._write(layer_id, slice(start, end), end, k, v)
        self._used[layer_id] = end
        window = self.config.policy_for(layer_id).window
        if count in (1, end) and not 0 < window < end:
            return keys, values, AttendSpec(MaskKind.NONE if count == 1 else MaskKind.CAUSAL)
        places = torch.arange(end, device=k.device)
        return keys, values, AttendSpec(MaskKind.EXPLICIT, causal_mask(places[start:], places, window))


def flatten_step(
    sequences: Mapping[int, tuple[torch.Tensor, int]],
) -> tuple[torch.Tensor, torch.Tensor, list[int], torch.Tensor]:
    """Concatenates the new tokens of several sequences to the inputs of one call of a model.

    Args:
        sequences: for each sequence, its tokens ([1, tokens] or [1, tokens, size]) and the position of the
            first one.

    Returns:
        The tokens, their positions (int64 [tokens, 1]), the sequence of each token, and the index of the last
        token of each sequence (int64 [sequences]).
    """
    parts = [(name, tokens, start, tokens.shape[1]) for name, (tokens, start) in sequences.items()]
    positions = torch.cat([torch.arange(start, start + count) for _, _, start, count in parts])
    owners = [name for name, _, _, count in parts for _ in range(count)]
    last = torch.tensor([count for *_, count in parts]).cumsum(0) - 1
    return torch.cat([part[1] for part in parts], dim=1), positions.unsqueeze(1), owners, last


@dataclass
class _Step:
    """One call of a model: what its layers share, and the layers that have stored their tokens."""

    cells: torch.Tensor  # The cell of each new token, int64 [tokens].
    queries: torch.Tensor  # The position of each new token, int64 [tokens].
    keys: torch.Tensor  # The position of each cell that is read, int64 [cells].
    related: torch.Tensor  # Whether a token and a cell have a sequence in common, bool [tokens, cells].
    masks: dict[int, torch.Tensor] = field(default_factory=dict)  # By window.
    done: set[int] = field(default_factory=set)


class CellReferenceCache(Cache):
    """The keys and values of several sequences.

    A call of a model takes the new tokens of all sequences on one axis, with a batch of 1. `begin_step` says
    before each call to which sequence each token belongs. A sequence is a number in [0, MAX_SEQS); methods
    raise ValueError for other numbers.

    Args:
        config: the sizes. The capacity counts cells.

    Raises:
        ValueError: the batch size is not 1.
    """

    def __init__(self, config: CacheConfig) -> None:
        if config.batch_size != 1:
            raise ValueError(f"CellReferenceCache needs batch_size=1, not {config.batch_size}")
        super().__init__(config)

    @override
    def reset(self) -> None:
        super().reset()
        # For each cell, the position of its token, and a bit for each sequence that has the token.
        self._positions = torch.zeros(self.config.capacity, dtype=torch.int64)
        self._owners = torch.zeros_like(self._positions)
        self._declared: list[int] = []
        self._step: _Step | None = None

    def free_cells(self) -> int:
        """Returns the number of cells without a token."""
        return int((self._owners == 0).sum())

    def can_extend(self, n: int = 1) -> bool:
        """Returns whether `n` more tokens fit."""
        return n <= self.free_cells()

    def seq_len(self, seq_id: int) -> int:
        """Returns the number of tokens of a sequence."""
        return int(self._owned(seq_id).sum())

    def begin_step(self, seq_ids: Sequence[int]) -> None:
        """Declares the sequence of each token of the next call of the model.

        Raises:
            ValueError: there is no token.
            RuntimeError: the tokens do not fit.
        """
        if not seq_ids:
            raise ValueError("a step needs at least one token")
        for seq_id in seq_ids:
            _bit(seq_id)
        if not self.can_extend(len(seq_ids)):
            raise RuntimeError(
                f"{len(seq_ids)} tokens do not fit in {self.free_cells()} free cells of the cache"
            )
        self._declared, self._step = list(seq_ids), None

    def seq_cp(self, src_id: int, dst_id: int, upto: int | None = None) -> None:
        """Gives another sequence the tokens of a sequence, of all positions or those below `upto`."""
        self._owners[self._owned(src_id, 0, upto)] |= _bit(dst_id)
        self._step = None

    def seq_rm(self, seq_id: int, p0: int = 0, p1: int | None = None) -> None:
        """Removes the tokens of a sequence with positions in [p0, p1). None means no upper bound.

        A cell is free when no sequence has its token.
        """
        self._owners[self._owned(seq_id, p0, p1)] &= ~_bit(seq_id)
        self._step = None

    @override
    def update_and_fetch(
        self, layer_id: int, k: torch.Tensor, v: torch.Tensor, position: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, AttendSpec]:
        step = self._step = self._step or self._begin(position)
        if layer_id in step.done:
            raise RuntimeError(f"layer {layer_id} got tokens twice; call begin_step before the model")
        step.done.add(layer_id)
        keys, values = self._write(layer_id, step.cells, len(step.keys), k, v)
        window = self.config.policy_for(layer_id).window
        if window not in step.masks:
            step.masks[window] = step.related & causal_mask(step.queries, step.keys, window)
        return keys, values, AttendSpec(MaskKind.EXPLICIT, step.masks[window])

    def _begin(self, position: torch.Tensor) -> _Step:
        """Gives the declared tokens the first free cells."""
        declared, self._declared = self._declared, []
        if not declared:
            raise RuntimeError("call begin_step before the model")
        if position.shape[-1] != 1:
            raise NotImplementedError(f"a token has {position.shape[-1]} positions; it must have one")
        queries = position.flatten()
        if len(queries) != len(declared):
            raise ValueError(f"begin_step declared {len(declared)} tokens, but the model got {len(queries)}")
        cells = (self._owners == 0).nonzero().flatten()[: len(declared)]
        bits = torch.tensor([_bit(seq_id) for seq_id in declared])
        self._positions[cells], self._owners[cells] = queries, bits
        end = int(self._owners.nonzero().max()) + 1
        related = (bits.unsqueeze(1) & self._owners[:end]) != 0
        return _Step(cells, queries, self._positions[:end], related)

    def _owned(self, seq_id: int, start: int = 0, end: int | None = None) -> torch.Tensor:
        """Returns for each cell whether it has a token of a sequence with a position in [start, end)."""
        found = ((self._owners & _bit(seq_id)) != 0) & (self._positions >= start)
        return found if end is None else found & (self._positions < end)


def _bit(seq_id: int) -> int:
    if not 0 <= seq_id < MAX_SEQS:
        raise ValueError(f"the sequence {seq_id} is not in [0, {MAX_SEQS})")
    return 1 << seq_id
