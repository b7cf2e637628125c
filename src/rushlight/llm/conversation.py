"""The context of a model: `Conversation`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rushlight.llm.models import Model, MultimodalModel
from rushlight.llm.sampler import Sampler
from rushlight.llm.stats import Stats, now_ms
from rushlight.runtime.errors import InvalidArgumentError


@dataclass(frozen=True)
class Part:
    """A part of a prompt, as input of the model: tokens, or the embeddings of an image or of audio.

    Attributes:
        tokens: the tokens; empty if there are embeddings.
        embeddings: float [1, count, size], or None.
    """

    tokens: Sequence[int] = ()
    embeddings: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.tokens) if self.embeddings is None else int(self.embeddings.shape[1])


class Conversation:
    """The context of a model: all tokens that it has read.

    The last generated token is added to the context when the model reads the next token. If a call fails or
    is stopped, the context does not include the part that was not finished.

    Args:
        model: the model.

    Attributes:
        position: the number of positions in the context.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._clear()

    def reset(self) -> None:
        """Empties the context, and restores the initial state of the model."""
        self._clear()
        self._model.reset()

    def _clear(self) -> None:
        self.position = 0
        self._pending: int | None = None  # the last generated token, not yet in the context
        self._logits: np.ndarray | None = None  # the logits of the next token

    def occupied(self, count: int) -> int:
        """Returns the number of positions in the context after a prompt with `count` positions."""
        return self.position + count + (self._pending is not None)

    def read(self, parts: Sequence[Part], stats: Stats) -> None:
        """Reads a prompt. If there is a last generated token, it is read before the prompt.

        Args:
            parts: the prompt. It may be empty if the context is not empty.
            stats: receives the times of the runs.

        Raises:
            InvalidArgumentError: the prompt and the context are empty, or the prompt is too long.
            CancelledError: another thread called the model's method `cancel`.
        """
        count = sum(map(len, parts))
        if not self.occupied(count):
            raise InvalidArgumentError("the prompt has no tokens, and the context is empty")
        length = self._model.context_length
        if self.occupied(count) > length:
            raise InvalidArgumentError(
                f"the prompt has {count} tokens, and {self.occupied(0)} are in the context, but the context "
                f"of the model has at most {length} tokens (its method get_max_context_len): shorten "
                "the prompt, or call reset() to empty the context"
            )
        unread = [part for part in parts if len(part)]
        if self._pending is not None:
            if unread and unread[0].embeddings is None:
                unread[0] = Part([self._pending, *unread[0].tokens])
            else:
                unread.insert(0, Part([self._pending]))
        position, logits = self.position, self._logits
        for part in unread:
            start = _begin(stats)
            if part.embeddings is None:
                logits = self._model.read_tokens(part.tokens, position)
            else:
                assert isinstance(self._model, MultimodalModel)
                logits = self._model.read_embeddings(part.embeddings, position)
            _end(stats, start)
            position += len(part)
        self.position, self._logits, self._pending = position, logits, None

    def write(self, count: int, sampler: Sampler, ends: frozenset[int], stats: Stats) -> Iterator[int]:
        """Generates tokens after the context.

        Args:
            count: the largest number of tokens.
            sampler: chooses tokens.
            ends: the tokens that end the generation.
            stats: receives the times and the number of tokens.

        Raises:
            CancelledError: another thread called the model's method `cancel`.
        """
        logits = self._logits
        assert logits is not None
        while True:
            start = time.perf_counter_ns()
            token = sampler(logits)
            stats.sampling_ns += time.perf_counter_ns() - start
            self._pending, self._logits = token, None
            if not stats.num_generated_tokens:
                stats.first_token_ms = now_ms()
            stats.num_generated_tokens += 1
            yield token
            count -= 1
            if count <= 0 or token in ends:
                return
            start = _begin(stats)
            logits = self._model.step(token, self.position)
            _end(stats, start)
            self.position += 1
            self._pending, self._logits = None, logits


def _begin(stats: Stats) -> int:
    stats.model_execution_start_ms = now_ms()
    return time.perf_counter_ns()


def _end(stats: Stats, start: int) -> None:
    stats.execution_ns += time.perf_counter_ns() - start
    stats.model_execution_end_ms = now_ms()
