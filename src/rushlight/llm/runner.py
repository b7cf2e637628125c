"""The base class of the runners of text models and of multimodal models: `Runner`."""

from __future__ import annotations

import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rushlight.llm.config import GenerationConfig
from rushlight.llm.conversation import Conversation, Part
from rushlight.llm.metadata import Metadata, read_metadata
from rushlight.llm.models import Model
from rushlight.llm.sampler import Sampler
from rushlight.llm.stats import Stats, now_ms
from rushlight.llm.text_stream import TextStream
from rushlight.llm.tokenizer import Tokenizer, load_tokenizer
from rushlight.runtime import Program, Runtime
from rushlight.runtime.errors import CancelledError, InvalidArgumentError, InvalidStateError
from rushlight.runtime.program import BackendOptions, DataSource, ProgramSource

TokenCallback = Callable[[str], object]
StatsCallback = Callable[[Stats], object]


class Runner(ABC):
    """A language model with its tokenizer and context.

    Only one thread at a time may use a runner. Another thread may call `stop`.

    Args:
        model_path: the .pte file of the model: a path, bytes, or a compiled program.
        tokenizer_path: the file of the tokenizer (see `load_tokenizer`), or an object with encode and decode.
        data_path: the .ptd files with the external data of the program, or the bytes of one such file.
        threads: the number of threads that a run may use, as in `rushlight.load`.
        backend_options: options of backends, as in `rushlight.load`.

    Attributes:
        metadata: the metadata of the program.
        tokenizer: the tokenizer.

    Raises:
        FileMissingError: a file does not exist.
        InvalidTokenizerError: the file of the tokenizer is damaged, or has an unknown format.
        NotSupportedError: the package that reads the tokenizer is not installed, or the program does not have
            the inputs of a language model.
        NotFoundError: the program does not have a required method.
        InvalidProgramError: the program is damaged, is not a language model, or does not have the required
            metadata.
    """

    def __init__(
        self,
        model_path: ProgramSource,
        tokenizer_path: str | os.PathLike[str] | Any,
        data_path: DataSource | None = None,
        *,
        threads: int | None = None,
        backend_options: BackendOptions | None = None,
    ) -> None:
        is_path = isinstance(tokenizer_path, (str, os.PathLike))
        self.tokenizer = load_tokenizer(tokenizer_path) if is_path else Tokenizer(tokenizer_path)
        self._load_start_ms = now_ms()
        program = Runtime.get().load_program(
            model_path, data_path=data_path, threads=threads, backend_options=backend_options
        )
        self.metadata = read_metadata(program)
        self._model = self._load_model(program, self.metadata)
        self._load_end_ms = now_ms()
        self._conversation = Conversation(self._model)
        self._ends = self.metadata.eos_ids | self.tokenizer.eos_ids
        self._busy = threading.Lock()

    @abstractmethod
    def _load_model(self, program: Program, metadata: Metadata) -> Model:
        """Creates the model from the program."""

    def stop(self) -> None:
        """Ends a call of `generate` or `prefill`. Call it on another thread, or in the callback of the call.

        `generate` then returns normally, and keeps the text that it has generated. If the prompt was not read
        completely, the context is the same as before the call.
        """
        self._model.cancel()

    def reset(self) -> None:
        """Empties the context, and restores the initial contents of caches and other state of the program.

        Raises:
            InvalidStateError: another call uses the runner.
        """
        with self._exclusive():
            self._conversation.reset()

    def get_vocab_size(self) -> int:
        """Returns the size of the vocabulary from the program, else from the tokenizer, else -1."""
        size = self.metadata.vocab_size
        return self.tokenizer.vocab_size if size == -1 else size

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise InvalidStateError("another call uses this runner: wait until it has ended, or call stop()")
        try:
            self._model.begin()
            yield
        finally:
            self._busy.release()

    def _framed(self, tokens: list[int], num_bos: int, num_eos: int) -> list[int]:
        """Returns tokens with `num_bos` BOS tokens before them and `num_eos` EOS tokens after them."""
        begin = self.metadata.bos_id if self.metadata.bos_id is not None else self.tokenizer.bos_id
        ends = self.tokenizer.eos_ids or self.metadata.eos_ids
        for count, token, option, method in (
            (num_bos, begin, "num_bos", "get_bos_id"),
            (num_eos, min(ends, default=None), "num_eos", "get_eos_ids"),
        ):
            if count and token is None:
                raise InvalidArgumentError(
                    f"{option} is {count}, but neither the program ({method}) nor the tokenizer defines "
                    "the token"
                )
        return [*[begin or 0] * num_bos, *tokens, *[min(ends, default=0)] * num_eos]

    def _prefill(self, prompt: Callable[[], Sequence[Part]]) -> None:
        with self._exclusive():
            self._conversation.read(prompt(), Stats())

    def _generate(
        self,
        prompt: Callable[[], Sequence[Part]],
        echo: str,
        config: GenerationConfig,
        token_callback: TokenCallback | None,
        stats_callback: StatsCallback | None,
    ) -> None:
        """Reads a prompt and generates text.

        Args:
            prompt: creates the prompt.
            echo: the text of the prompt. The callback receives it first if `config.echo` is True.
            config: the options.
            token_callback: receives each piece of text; None prints the text.
            stats_callback: receives the times and counts at the end.
        """
        config.check()
        callback = token_callback or (_ignore if config.warming else _print)
        stats = Stats(self._load_start_ms, self._load_end_ms, inference_start_ms=now_ms())
        with self._exclusive():
            try:
                self._write(prompt, echo, config, callback, stats)
            except CancelledError:
                pass  # `stop` was called
            stats.inference_end_ms = now_ms()
        if callback is _print:
            _print("\n")
        if stats_callback is not None:
            stats_callback(stats)

    def _write(
        self,
        prompt: Callable[[], Sequence[Part]],
        echo: str,
        config: GenerationConfig,
        callback: TokenCallback,
        stats: Stats,
    ) -> None:
        parts = prompt()
        stats.token_encode_end_ms = now_ms()
        stats.num_prompt_tokens = sum(map(len, parts))
        occupied = self._conversation.occupied(stats.num_prompt_tokens)
        length = self._model.context_length
        count = config.resolve_max_new_tokens(length, occupied)
        if not count and occupied <= length:
            raise InvalidArgumentError(
                f"no token may be generated: max_new_tokens is {config.max_new_tokens}, seq_len "
                f"{config.seq_len}, and {occupied} of the {length} positions of the context are occupied. "
                "To read a prompt without generating text, use prefill(). To empty the context, use reset()"
            )
        self._conversation.read(parts, stats)
        stats.prompt_eval_end_ms = now_ms()
        if config.echo and echo:
            callback(echo)
        last = next((part.tokens for part in reversed(parts) if len(part)), ())
        stream = TextStream(self.tokenizer, last)
        sampler = Sampler(config.temperature, config.top_p, config.seed)
        try:
            for token in self._conversation.write(count, sampler, self._ends, stats):
                piece = "" if token in self._ends else stream.push(token)
                if piece:
                    callback(piece)
        except CancelledError:
            pass  # `stop` was called
        piece = stream.finish()
        if piece:
            callback(piece)


def _print(piece: str) -> None:
    sys.stdout.write(piece)
    sys.stdout.flush()


def _ignore(piece: str) -> None:
    pass
