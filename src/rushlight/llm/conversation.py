"""What a model has read and written so far: `Conversation`."""

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
    """A part of a prompt as the model reads it: tokens, or the embeddings of an image or of sound.

    Attributes:
        tokens: the tokens; empty if there are embeddings.
        embeddings: [1, count, size], or None.
    """

    tokens: Sequence[int] = ()
    embeddings: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.tokens) if self.embeddings is None else int(self.embeddings.shape[1])


class Conversation:
    """The context of a model.

    The last generated token is not in the context, until the model reads more. A call that fails or that is
    stopped leaves the context as it was before the part that it could not finish.

    Args:
        model: the model.

    Attributes:
        position: the number of positions in the context.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._forget()

    def reset(self) -> None:
        """Begins with an empty context, and with the first contents of the model's state."""
        self._forget()
        self._model.reset()

    def _forget(self) -> None:
        self.position = 0
        self._pending: int | None = None  # the last generated token
        self._logits: np.ndarray | None = None  # of the next token

    def occupied(self, count: int) -> int:
        """Returns the number of positions after a prompt with so many."""
        return self.position + count + (self._pending is not None)

    def read(self, parts: Sequence[Part], stats: Stats) -> None:
        """Reads a prompt, after the token that was generated last.

        Args:
            parts: the prompt, which may be empty if there is something in the context.
            stats: gets the times of the runs.

        Raises:
            InvalidArgumentError: the prompt and the context are empty, or the prompt is too long.
            CancelledError: another thread called `cancel` of the model.
        """
        count = sum(map(len, parts))
        if not self.occupied(count):
            raise InvalidArgumentError("the prompt has no tokens, and nothing was read before")
        length = self._model.context_length
        if self.occupied(count) > length:
            raise InvalidArgumentError(
                f"the prompt has {count} tokens, and {self.occupied(0)} are in the context, but the model "
                f"has room for {length}: shorten the prompt, or call reset() to begin with an empty context. "
                "get_max_context_len of the program says the room"
            )
        todo = [part for part in parts if len(part)]
        if self._pending is not None:
            if todo and todo[0].embeddings is None:
                todo[0] = Part([self._pending, *todo[0].tokens])
            else:
                todo.insert(0, Part([self._pending]))
        position, logits = self.position, self._logits
        for part in todo:
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
        """Generates tokens behind what was read.

        Args:
            count: the largest number of tokens.
            sampler: chooses tokens.
            ends: tokens behind which nothing is generated.
            stats: gets the times and the number of tokens.

        Raises:
            CancelledError: another thread called `cancel` of the model.
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
