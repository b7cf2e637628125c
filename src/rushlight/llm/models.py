"""The programs of language models: `TextModel` and `MultimodalModel`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from rushlight.llm.inputs import Image
from rushlight.llm.metadata import Metadata
from rushlight.runtime import Method, MethodMeta, Program
from rushlight.runtime.errors import (
    CancelledError,
    InvalidArgumentError,
    InvalidProgramError,
    InvalidTypeError,
    NotFoundError,
    NotSupportedError,
)

_INTEGERS = ("int64", "int32")
_LOGITS = ("float32", "float16", "bfloat16")


class Model(Protocol):
    """The interface of a model that reads tokens and returns the logits of the next token."""

    context_length: int

    def read_tokens(self, tokens: Sequence[int], position: int) -> np.ndarray:
        """Returns the logits [vocabulary] after tokens. `position` is the position of the first token."""

    def step(self, token: int, position: int) -> np.ndarray:
        """Returns the logits [vocabulary] after one token."""

    def reset(self) -> None:
        """Restores the initial contents of caches and other state of the program."""

    def begin(self) -> None:
        """Resets the effect of earlier calls of `cancel`."""

    def cancel(self) -> None:
        """Ends a call of `read_tokens` or `step` on another thread, and later calls, with CancelledError.

        `begin` ends this effect.
        """


class _CancellableModel:
    """Runs methods. Another thread can cancel the run."""

    def __init__(self) -> None:
        self._running: Method | None = None
        self._is_cancelled = False

    def begin(self) -> None:
        """Resets the effect of earlier calls of `cancel`."""
        self._is_cancelled = False

    def cancel(self) -> None:
        """Ends the run on another thread, and later runs until `begin` is called, with CancelledError."""
        self._is_cancelled = True
        method = self._running
        if method is not None:
            method.cancel()

    def _run(self, method: Method, inputs: tuple[Any, ...]) -> np.ndarray:
        """Returns the first output of a method."""
        self._running = method
        if self._is_cancelled:
            raise CancelledError("the generation was stopped")
        found: np.ndarray = method.execute(inputs)[0]
        return found


class _PositionInput:
    """The input of a method with the position of the first token, or with the positions of all tokens."""

    def __init__(self, meta: MethodMeta, index: int) -> None:
        self._is_number = meta.input_tag(index) == "Int"
        self._is_per_token = False
        if self._is_number:
            return
        tensor = _tensor(meta, index, _INTEGERS, "positions of tokens")
        shape = tuple(tensor.sizes())
        if len(shape) > 1:
            raise InvalidProgramError(
                f"input {index} of method {meta.name()!r} is {tensor.description()}: the position must be "
                "a tensor with one element, or with one element for each token"
            )
        self._is_per_token = tensor.is_dynamic() or shape not in ((), (1,))
        self._shape = shape
        self._dtype = np.dtype(tensor.dtype_name())
        self._first = np.empty(() if shape == () else (1,), self._dtype)

    def input(self, position: int, count: int) -> Any:
        """Returns the input for `count` tokens that begin at `position`.

        The next call may overwrite the returned array.
        """
        if self._is_number:
            return position
        if self._is_per_token and count != 1:
            return np.arange(position, position + count, dtype=self._dtype)
        self._first[...] = position
        return self._first


def _tensor(meta: MethodMeta, index: int, dtypes: Sequence[str], what: str) -> Any:
    """Returns the metadata of an input of a method. The input must be a tensor of one of the dtypes."""
    where = f"input {index} of method {meta.name()!r}"
    if meta.input_tag(index) != "Tensor":
        raise InvalidProgramError(f"{where} must be a tensor with {what}, not {meta.input_tag(index)}")
    tensor = meta.input_tensor_meta(index)
    if tensor.dtype_name() not in dtypes:
        raise InvalidProgramError(
            f"{where} has {what}, but it is {tensor.description()}: export the model with "
            f"{' or '.join(dtypes)}"
        )
    return tensor


def _method(program: Program, name: str, what: str) -> Method:
    if name not in program.method_names:
        found = ", ".join(sorted(program.method_names))
        raise NotFoundError(f"the program has no method {name!r}, which {what}; its methods are {found}")
    return program.load_method(name)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _check_counts(meta: MethodMeta, inputs: tuple[int, ...], signature: str) -> None:
    if meta.num_inputs() not in inputs or meta.num_outputs() < 1:
        raise NotSupportedError(
            f"method {meta.name()!r} has {_count(meta.num_inputs(), 'input')} and "
            f"{_count(meta.num_outputs(), 'output')}: a language model must have {signature}"
        )


def _check_logits(meta: MethodMeta) -> int:
    """Checks the first output of a method, and returns the number of logits."""
    where = f"output 0 of method {meta.name()!r}"
    if meta.output_tag(0) != "Tensor":
        raise InvalidProgramError(f"{where} must be a tensor with logits, not {meta.output_tag(0)}")
    tensor = meta.output_tensor_meta(0)
    if tensor.dtype_name() not in _LOGITS:
        raise InvalidProgramError(
            f"{where} has logits, but it is {tensor.description()}: logits must be {', '.join(_LOGITS)}"
        )
    shape = tensor.sizes()
    if not shape or shape[-1] < 1:
        raise InvalidProgramError(
            f"{where} has logits, but it is {tensor.description()}: the last dimension must be the vocabulary"
        )
    return int(shape[-1])


def _last(logits: np.ndarray) -> np.ndarray:
    """Returns the logits after the last token, as a view of the logits of all tokens."""
    last: np.ndarray = logits.reshape(-1, logits.shape[-1])[-1]
    return last


class TextModel(_CancellableModel):
    """A program with the method `forward(tokens, position)`, or `forward(tokens)` without a cache.

    Args:
        program: the program.
        metadata: the metadata of the program.

    Attributes:
        context_length: the largest number of tokens in the context.

    Raises:
        NotFoundError: the program has no method `forward`.
        InvalidProgramError: the inputs or outputs of `forward` are not those of a language model, or do not
            agree with the metadata.
        NotSupportedError: the number of inputs of `forward` is not supported.
    """

    def __init__(self, program: Program, metadata: Metadata) -> None:
        super().__init__()
        self._method = _method(program, "forward", "reads tokens and returns logits")
        meta = program.metadata("forward")
        _check_counts(meta, (1, 2), "forward(tokens, position), or forward(tokens) without a cache")
        tokens = _tensor(meta, 0, _INTEGERS, "tokens")
        shape = tokens.sizes()
        if len(shape) != 2:
            raise InvalidProgramError(
                f"input 0 of method 'forward' is {tokens.description()}: tokens must have the shape "
                "[1, count]"
            )
        self._vocabulary = _check_logits(meta)
        has_cache = meta.num_inputs() == 2
        if has_cache != metadata.use_kv_cache:
            raise InvalidProgramError(
                f"use_kv_cache is {metadata.use_kv_cache}, but forward has "
                f"{_count(meta.num_inputs(), 'input')}: with a cache, the inputs are tokens and their "
                "position; without a cache, only tokens"
            )
        most = int(shape[1]) if tokens.is_dynamic() else 1
        if not tokens.is_dynamic() and (shape[1] != 1 or not has_cache or metadata.enable_dynamic_shape):
            raise InvalidProgramError(
                f"input 0 of method 'forward' is {tokens.description()}, without a dynamic number of tokens: "
                + (
                    "export the model with dynamic_shapes, or for one token and without enable_dynamic_shape"
                    if has_cache
                    else "a model without a cache reads all tokens in each run; export it with dynamic_shapes"
                )
            )
        self._positions = _PositionInput(meta, 1) if has_cache else None
        self._history: list[int] = []  # all tokens of the context, if there is no cache
        self._dtype = np.dtype(tokens.dtype_name())
        self._one = np.empty((1, 1), self._dtype)
        if has_cache:
            self._chunk = min(most, metadata.max_seq_len) if metadata.enable_dynamic_shape else 1
            self.context_length = metadata.max_context_len
        else:
            self._chunk = most
            self.context_length = min(most, metadata.max_seq_len, metadata.max_context_len)

    def read_tokens(self, tokens: Sequence[int], position: int) -> np.ndarray:
        """Returns the logits [vocabulary] after tokens.

        Args:
            tokens: one or more tokens.
            position: the position of the first token.

        Raises:
            InvalidArgumentError: a token is outside the vocabulary.
            CancelledError: another thread called `cancel`.
        """
        _check_tokens(tokens, self._vocabulary)
        if self._positions is None:
            self._history = [*self._history[:position], *tokens]
            return _last(self._run(self._method, (np.array([self._history], self._dtype),)))
        logits = None
        for start in range(0, len(tokens), self._chunk):
            chunk = np.array([tokens[start : start + self._chunk]], self._dtype)
            where = self._positions.input(position + start, chunk.shape[1])
            logits = self._run(self._method, (chunk, where))
        assert logits is not None
        return _last(logits)

    def step(self, token: int, position: int) -> np.ndarray:
        """Returns the logits [vocabulary] after one token.

        Args:
            token: the token. It must be in the vocabulary.
            position: the position of the token.

        Raises:
            CancelledError: another thread called `cancel`.
        """
        if self._positions is None:
            return self.read_tokens((token,), position)
        self._one[0, 0] = token
        return _last(self._run(self._method, (self._one, self._positions.input(position, 1))))

    def reset(self) -> None:
        """Restores the initial contents of the cache and other state of the program."""
        self._history = []
        self._method.reset_state()


def _check_tokens(tokens: Sequence[int], vocabulary: int) -> None:
    worst = next((token for token in (max(tokens), min(tokens)) if not 0 <= token < vocabulary), None)
    if worst is not None:
        raise InvalidArgumentError(
            f"the prompt has the token {worst}, but the model has {vocabulary} tokens: the "
            "tokenizer may belong to another model"
        )


class MultimodalModel(_CancellableModel):
    """A program with the methods `token_embedding(tokens)` and `text_decoder(embeddings, position)`.

    A program that supports images has the method `vision_encoder(image)`. A program that supports audio has
    the method `audio_encoder(audio)`.

    Args:
        program: the program.
        metadata: the metadata of the program.

    Attributes:
        context_length: the largest number of positions in the context.

    Raises:
        NotFoundError: the program does not have one of the methods.
        InvalidProgramError: the inputs or outputs of a method are not those of a language model.
        NotSupportedError: the number of inputs of a method is not supported.
    """

    def __init__(self, program: Program, metadata: Metadata) -> None:
        super().__init__()
        self._program = program
        self._embedding = _method(program, "token_embedding", "converts tokens to embeddings")
        self._decoder = _method(program, "text_decoder", "reads embeddings and returns logits")
        meta = program.metadata("token_embedding")
        _check_counts(meta, (1,), "token_embedding(tokens)")
        tokens = _tensor(meta, 0, _INTEGERS, "tokens")
        self._dtype = np.dtype(tokens.dtype_name())
        meta = program.metadata("text_decoder")
        _check_counts(meta, (2,), "text_decoder(embeddings, position)")
        embeddings = _tensor(meta, 0, ("float32", "float16", "bfloat16"), "embeddings")
        shape = embeddings.sizes()
        if len(shape) != 3:
            raise InvalidProgramError(
                f"input 0 of method 'text_decoder' is {embeddings.description()}: embeddings must "
                "have the shape [1, count, size]"
            )
        self._size = int(shape[2])
        self._embeddings_text = embeddings.description()
        self._positions = _PositionInput(meta, 1)
        self._vocabulary = _check_logits(meta)
        most = int(shape[1]) if embeddings.is_dynamic() else 1
        if not embeddings.is_dynamic() and shape[1] != 1:
            raise InvalidProgramError(
                f"input 0 of method 'text_decoder' is {embeddings.description()}: export it with a dynamic "
                "number of embeddings, or for one embedding"
            )
        self._largest_chunk = min(most, metadata.max_seq_len)
        self._chunk = self._largest_chunk if tokens.is_dynamic() else 1
        self._one = np.empty((1, 1), self._dtype)
        self.context_length = metadata.max_context_len

    def read_tokens(self, tokens: Sequence[int], position: int) -> np.ndarray:
        """Returns the logits [vocabulary] after tokens. See `TextModel.read_tokens`."""
        _check_tokens(tokens, self._vocabulary)
        logits = None
        for start in range(0, len(tokens), self._chunk):
            chunk = np.array([tokens[start : start + self._chunk]], self._dtype)
            logits = self.read_embeddings(self._run(self._embedding, (chunk,)), position + start)
        assert logits is not None
        return logits

    def step(self, token: int, position: int) -> np.ndarray:
        """Returns the logits [vocabulary] after one token. See `TextModel.step`."""
        self._one[0, 0] = token
        embedding = self._run(self._embedding, (self._one,))
        return _last(self._run(self._decoder, (embedding, self._positions.input(position, 1))))

    def reset(self) -> None:
        """Restores the initial contents of the cache and other state of the program."""
        self._embedding.reset_state()
        self._decoder.reset_state()

    def encode(self, part: Any, method: str, what: str) -> np.ndarray:
        """Returns the embeddings [1, count, size] of an image or of audio.

        Args:
            part: an Image, Audio or RawAudio.
            method: the name of the encoder method.
            what: the name of the part in error messages, such as "an image".

        Raises:
            NotFoundError: the program has no such encoder.
            InvalidTypeError: the encoder needs another dtype.
            InvalidArgumentError: the encoder needs another shape.
        """
        encoder = _method(self._program, method, f"reads {what}")
        meta = self._program.metadata(method)
        _check_counts(meta, (1,), f"{method}({what})")
        tensor = _tensor(meta, 0, ("float32", "float16", "bfloat16", "uint8"), what)
        values = part.array
        if (values.dtype == np.uint8) != (tensor.dtype_name() == "uint8"):
            raise InvalidTypeError(
                f"{method} takes {tensor.description()}, but the values of {what} are {values.dtype}: "
                "convert them, and scale them as the model expects"
            )
        if tensor.dtype_name() == "float16":
            values = values.astype(np.float16)
        if isinstance(part, Image) and len(tensor.sizes()) == 4:
            values = values[None]
        try:
            found = self._run(encoder, (values,))
        except InvalidArgumentError as error:
            raise InvalidArgumentError(
                f"{method} takes {tensor.description()}, not {what} of shape {list(values.shape)}: {error}"
            ) from None
        return found[None] if found.ndim == 2 else found

    def read_embeddings(self, embeddings: np.ndarray, position: int) -> np.ndarray:
        """Returns the logits [vocabulary] after embeddings.

        Args:
            embeddings: float [1, count, size].
            position: the position of the first embedding.

        Raises:
            InvalidProgramError: the decoder needs embeddings of another size, or there are no embeddings.
        """
        if embeddings.ndim != 3 or embeddings.shape[0] != 1 or embeddings.shape[2] != self._size:
            raise InvalidProgramError(
                f"text_decoder takes {self._embeddings_text}, but the encoder returns "
                f"{list(embeddings.shape)}"
            )
        logits = None
        for start in range(0, embeddings.shape[1], self._largest_chunk):
            chunk = np.ascontiguousarray(embeddings[:, start : start + self._largest_chunk])
            where = self._positions.input(position + start, chunk.shape[1])
            logits = self._run(self._decoder, (chunk, where))
        if logits is None:
            raise InvalidProgramError("an encoder returned no embeddings: their number is 0")
        return _last(logits)
