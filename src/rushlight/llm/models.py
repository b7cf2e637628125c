"""Programs of language models: `TextModel`, `MultimodalModel`."""

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
    """What reads tokens at a position and gives the logits of the next token."""

    context_length: int

    def read_tokens(self, tokens: Sequence[int], position: int) -> np.ndarray:
        """Returns the logits [vocabulary] behind tokens, the first of which is at a position."""

    def step(self, token: int, position: int) -> np.ndarray:
        """Returns the logits [vocabulary] behind one token."""

    def reset(self) -> None:
        """Gives caches and other state of the program their first contents."""

    def begin(self) -> None:
        """Forgets earlier calls of `cancel`."""

    def cancel(self) -> None:
        """Ends the call of `read_tokens` or `step` on another thread, and later ones, with CancelledError."""


class _Runs:
    """Runs methods until another thread cancels that."""

    def __init__(self) -> None:
        self._running: Method | None = None
        self._is_cancelled = False

    def begin(self) -> None:
        """Forgets earlier calls of `cancel`."""
        self._is_cancelled = False

    def cancel(self) -> None:
        """Ends the run on another thread, and later ones until `begin`, with CancelledError."""
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


class _Positions:
    """The input that says where tokens are: the first position, or the position of each of them."""

    def __init__(self, meta: MethodMeta, index: int) -> None:
        self._is_number = meta.input_tag(index) == "Int"
        self.is_each = False
        if self._is_number:
            return
        tensor = _tensor(meta, index, _INTEGERS, "positions of tokens")
        shape = tuple(tensor.sizes())
        if len(shape) > 1:
            raise InvalidProgramError(
                f"input {index} of method {meta.name()!r} is {tensor.description()}: the position is a "
                "tensor of one element, or of one for each token"
            )
        self.is_each = tensor.is_dynamic() or shape not in ((), (1,))
        self._shape = shape
        self._dtype = np.dtype(tensor.dtype_name())
        self._first = np.empty(() if shape == () else (1,), self._dtype)

    def input(self, position: int, count: int) -> Any:
        """Returns the input for tokens from a position on. The next call changes it."""
        if self._is_number:
            return position
        if self.is_each and count != 1:
            return np.arange(position, position + count, dtype=self._dtype)
        self._first[...] = position
        return self._first


def _tensor(meta: MethodMeta, index: int, dtypes: Sequence[str], what: str) -> Any:
    """Returns an input of a method, which has to be a tensor of one of the dtypes."""
    where = f"input {index} of method {meta.name()!r}"
    if meta.input_tag(index) != "Tensor":
        raise InvalidProgramError(f"{where} has {what}, but is no tensor: {meta.input_tag(index)}")
    tensor = meta.input_tensor_meta(index)
    if tensor.dtype_name() not in dtypes:
        raise InvalidProgramError(
            f"{where} has {what}, but is {tensor.description()}: export the model with {' or '.join(dtypes)}"
        )
    return tensor


def _method(program: Program, name: str, what: str) -> Method:
    if name not in program.method_names:
        found = ", ".join(sorted(program.method_names))
        raise NotFoundError(f"the program has no method {name!r}, which {what}; it has {found}")
    return program.load_method(name)


def _check_counts(meta: MethodMeta, inputs: tuple[int, ...], signature: str) -> None:
    if meta.num_inputs() not in inputs or meta.num_outputs() < 1:
        raise NotSupportedError(
            f"method {meta.name()!r} has {meta.num_inputs()} inputs and {meta.num_outputs()} outputs: "
            f"a language model has {signature}"
        )


def _check_logits(meta: MethodMeta) -> int:
    """Checks the first output of a method, and returns the number of logits."""
    where = f"output 0 of method {meta.name()!r}"
    if meta.output_tag(0) != "Tensor":
        raise InvalidProgramError(f"{where} has logits, but is no tensor: {meta.output_tag(0)}")
    tensor = meta.output_tensor_meta(0)
    if tensor.dtype_name() not in _LOGITS:
        raise InvalidProgramError(
            f"{where} has logits, but is {tensor.description()}: logits are of {', '.join(_LOGITS)}"
        )
    shape = tensor.sizes()
    if not shape or shape[-1] < 1:
        raise InvalidProgramError(f"{where} has logits, but is {tensor.description()}, without a vocabulary")
    return int(shape[-1])


def _last(logits: np.ndarray) -> np.ndarray:
    """Returns the logits behind the last token, a view of those of all tokens."""
    last: np.ndarray = logits.reshape(-1, logits.shape[-1])[-1]
    return last


class TextModel(_Runs):
    """A program with the method `forward(tokens, position)`, or `forward(tokens)` without a cache.

    Args:
        program: the program.
        metadata: what it says about itself.

    Attributes:
        context_length: the most tokens in the context.

    Raises:
        NotFoundError: the program has no method `forward`.
        InvalidProgramError: the inputs or outputs of `forward` are not those of a language model, or the
            metadata say something else.
        NotSupportedError: `forward` has another number of inputs.
    """

    def __init__(self, program: Program, metadata: Metadata) -> None:
        super().__init__()
        self._method = _method(program, "forward", "reads tokens and gives logits")
        meta = program.metadata("forward")
        _check_counts(meta, (1, 2), "forward(tokens, position), or forward(tokens) without a cache")
        tokens = _tensor(meta, 0, _INTEGERS, "tokens")
        shape = tokens.sizes()
        if len(shape) != 2:
            raise InvalidProgramError(
                f"input 0 of method 'forward' is {tokens.description()}: tokens are [1, count]"
            )
        self._vocabulary = _check_logits(meta)
        has_cache = meta.num_inputs() == 2
        if has_cache != metadata.use_kv_cache:
            raise InvalidProgramError(
                f"use_kv_cache is {metadata.use_kv_cache}, but forward has {meta.num_inputs()} inputs: with "
                "a cache it takes tokens and their position, without one tokens alone"
            )
        most = int(shape[1]) if tokens.is_dynamic() else 1
        if not tokens.is_dynamic() and (shape[1] != 1 or not has_cache or metadata.enable_dynamic_shape):
            raise InvalidProgramError(
                f"input 0 of method 'forward' is {tokens.description()}, no dynamic number of tokens: "
                + (
                    "export the model with dynamic_shapes, or without enable_dynamic_shape and for one token"
                    if has_cache
                    else "a model without a cache reads all tokens in each run; export it with dynamic_shapes"
                )
            )
        self._positions = _Positions(meta, 1) if has_cache else None
        self._history: list[int] = []  # all tokens, if there is no cache
        self._dtype = np.dtype(tokens.dtype_name())
        self._one = np.empty((1, 1), self._dtype)
        if has_cache:
            self._chunk = min(most, metadata.max_seq_len) if metadata.enable_dynamic_shape else 1
            self.context_length = metadata.max_context_len
        else:
            self._chunk = most
            self.context_length = min(most, metadata.max_seq_len, metadata.max_context_len)

    def read_tokens(self, tokens: Sequence[int], position: int) -> np.ndarray:
        """Returns the logits [vocabulary] behind tokens.

        Args:
            tokens: at least one token.
            position: that of the first token.

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
        """Returns the logits [vocabulary] behind one token.

        Args:
            token: the token, which is in the vocabulary.
            position: that of the token.

        Raises:
            CancelledError: another thread called `cancel`.
        """
        if self._positions is None:
            return self.read_tokens((token,), position)
        self._one[0, 0] = token
        return _last(self._run(self._method, (self._one, self._positions.input(position, 1))))

    def reset(self) -> None:
        """Gives the cache and other state of the program their first contents."""
        self._history = []
        self._method.reset_state()


def _check_tokens(tokens: Sequence[int], vocabulary: int) -> None:
    worst = next((token for token in (max(tokens), min(tokens)) if not 0 <= token < vocabulary), None)
    if worst is not None:
        raise InvalidArgumentError(
            f"the prompt has the token {worst}, but the model has {vocabulary} tokens: does the "
            "tokenizer belong to the model?"
        )


class MultimodalModel(_Runs):
    """A program with the methods `token_embedding(tokens)` and `text_decoder(embeddings, position)`, and with
    `vision_encoder(image)` and `audio_encoder(sound)` if it takes images and sound.

    Args:
        program: the program.
        metadata: what it says about itself.

    Attributes:
        context_length: the most positions in the context.

    Raises:
        NotFoundError: the program lacks a method.
        InvalidProgramError: the inputs or outputs of a method are not those of a language model.
        NotSupportedError: a method has another number of inputs.
    """

    def __init__(self, program: Program, metadata: Metadata) -> None:
        super().__init__()
        self._program = program
        self._embedding = _method(program, "token_embedding", "turns tokens into embeddings")
        self._decoder = _method(program, "text_decoder", "reads embeddings and gives logits")
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
                f"input 0 of method 'text_decoder' is {embeddings.description()}: embeddings are "
                "[1, count, size]"
            )
        self._size = int(shape[2])
        self._embeddings_text = embeddings.description()
        self._positions = _Positions(meta, 1)
        self._vocabulary = _check_logits(meta)
        most = int(shape[1]) if embeddings.is_dynamic() else 1
        if not embeddings.is_dynamic() and shape[1] != 1:
            raise InvalidProgramError(
                f"input 0 of method 'text_decoder' is {embeddings.description()}: export it with a dynamic "
                "number of embeddings, or for one"
            )
        self._most = min(most, metadata.max_seq_len)
        self._chunk = self._most if tokens.is_dynamic() else 1
        self._one = np.empty((1, 1), self._dtype)
        self.context_length = metadata.max_context_len

    def read_tokens(self, tokens: Sequence[int], position: int) -> np.ndarray:
        """Returns the logits [vocabulary] behind tokens, as `TextModel.read_tokens`."""
        _check_tokens(tokens, self._vocabulary)
        logits = None
        for start in range(0, len(tokens), self._chunk):
            chunk = np.array([tokens[start : start + self._chunk]], self._dtype)
            logits = self.read_embeddings(self._run(self._embedding, (chunk,)), position + start)
        assert logits is not None
        return logits

    def step(self, token: int, position: int) -> np.ndarray:
        """Returns the logits [vocabulary] behind one token, as `TextModel.step`."""
        self._one[0, 0] = token
        embedding = self._run(self._embedding, (self._one,))
        return _last(self._run(self._decoder, (embedding, self._positions.input(position, 1))))

    def reset(self) -> None:
        """Gives the cache and other state of the program their first contents."""
        self._embedding.reset_state()
        self._decoder.reset_state()

    def encode(self, part: Any, method: str, what: str) -> np.ndarray:
        """Returns the embeddings [1, count, size] of an image or of sound.

        Args:
            part: an Image, Audio or RawAudio.
            method: the name of the encoder.
            what: what the part is called in messages.

        Raises:
            NotFoundError: the program has no such encoder.
            InvalidTypeError: the encoder takes another dtype.
            InvalidArgumentError: the encoder takes another shape.
        """
        encoder = _method(self._program, method, f"reads {what}")
        meta = self._program.metadata(method)
        _check_counts(meta, (1,), f"{method}({what})")
        tensor = _tensor(meta, 0, ("float32", "float16", "bfloat16", "uint8"), what)
        values = part.array
        if (values.dtype == np.uint8) != (tensor.dtype_name() == "uint8"):
            raise InvalidTypeError(
                f"{method} takes {tensor.description()}, and {what} has {values.dtype}: convert the values, "
                "and scale them as the model expects"
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
        """Returns the logits [vocabulary] behind embeddings.

        Args:
            embeddings: [1, count, size].
            position: that of the first one.

        Raises:
            InvalidProgramError: the decoder takes embeddings of another size.
        """
        if embeddings.ndim != 3 or embeddings.shape[0] != 1 or embeddings.shape[2] != self._size:
            raise InvalidProgramError(
                f"text_decoder takes {self._embeddings_text}, but the encoder gives {list(embeddings.shape)}"
            )
        logits = None
        for start in range(0, embeddings.shape[1], self._most):
            chunk = np.ascontiguousarray(embeddings[:, start : start + self._most])
            where = self._positions.input(position + start, chunk.shape[1])
            logits = self._run(self._decoder, (chunk, where))
        if logits is None:
            raise InvalidProgramError("an encoder gives no embeddings")
        return _last(logits)
