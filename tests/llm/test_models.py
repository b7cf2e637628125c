"""Programs that are language models, and their results for tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.llm.programs import CACHED, multimodal_program, text_program, with_metadata
from torch import Tensor, nn

import rushlight
from rushlight.llm.inputs import Audio, Image
from rushlight.llm.metadata import read_metadata
from rushlight.llm.models import Model, MultimodalModel, TextModel
from rushlight.runtime import Runtime
from rushlight.runtime.errors import (
    CancelledError,
    InvalidArgumentError,
    InvalidProgramError,
    InvalidTypeError,
    NotFoundError,
    NotSupportedError,
)


def load(program: bytes, kind: Callable[..., Any] = TextModel) -> Any:
    loaded = Runtime.get().load_program(program)
    return kind(loaded, read_metadata(loaded))


TOKENS = [5, 9, 2, 30, 7, 11, 4, 8, 25, 1, 6]  # more than one chunk of 8


@pytest.mark.parametrize("kind", ["started", "positions", "single", "forgetful"])
def test_chunks_give_what_single_tokens_give(kind: str) -> None:
    whole, single = load(text_program(kind)), load(text_program(kind))
    expected = [single.step(token, position) for position, token in enumerate(TOKENS)][-1]
    assert expected.shape == (40,)
    np.testing.assert_allclose(whole.read_tokens(TOKENS, 0), expected, rtol=0, atol=1e-5)
    # Tokens at positions that were read before replace the contents of these positions.
    assert not np.allclose(whole.read_tokens([1, 1], 0), expected, atol=1e-3)
    np.testing.assert_allclose(whole.read_tokens(TOKENS, 0), expected, rtol=0, atol=1e-5)


def test_tokens_outside_the_vocabulary() -> None:
    model = load(text_program("started"))
    with pytest.raises(
        InvalidArgumentError, match="token 40, but the model has 40 tokens: the tokenizer may belong"
    ):
        model.read_tokens([1, 40], 0)


def test_cancelled_until_the_next_begin() -> None:
    model: Model = load(text_program("started"))
    model.cancel()
    with pytest.raises(CancelledError, match="stopped"):
        model.step(1, 0)
    model.begin()
    assert model.step(1, 0).shape == (40,)


class Computed(nn.Module):
    """A model without weights, which calls a function."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(*inputs)


def program(
    function: Callable[..., Tensor], *inputs: Tensor, name: str = "forward", **constants: object
) -> bytes:
    module = {name: Computed(function)}
    constants = {"get_max_seq_len": 8, **constants}
    return rushlight.compile(module, {name: inputs}, partitioner=(), constant_methods=constants).buffer


ONE = torch.zeros(1, 1, dtype=torch.int64)
START = torch.tensor([0])


def logits(tokens: Tensor, start: Tensor) -> Tensor:
    return (tokens + start).float()[..., None].expand(-1, -1, 5) * 1.0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: program(logits, ONE, START, name="decode"),
            NotFoundError,
            "no method 'forward', which reads tokens and returns logits; its methods are decode, get_max",
        ),
        (
            lambda: program(lambda t, s, m: logits(t, s) + m, ONE, START, torch.ones(1)),
            NotSupportedError,
            r"'forward' has 3 inputs and 1 output: a language model must have forward\(tokens, position\)",
        ),
        (
            lambda: program(logits, ONE.float(), START),
            InvalidProgramError,
            r"input 0 of method 'forward' has tokens, but it is float32\[1, 1\]: export the model with int64",
        ),
        (
            lambda: program(logits, ONE, START.float()),
            InvalidProgramError,
            r"input 1 of method 'forward' has positions of tokens, but it is float32\[1\]",
        ),
        (
            lambda: program(lambda t, s: logits(t[None], s), ONE[0], START),
            InvalidProgramError,
            r"int64\[1\]: tokens must have the shape \[1, count\]",
        ),
        (
            lambda: program(lambda t, s: logits(t, s).long(), ONE, START),
            InvalidProgramError,
            r"output 0 of method 'forward' has logits, but it is int64\[1, 1, 5\]: logits must be float32",
        ),
        (
            lambda: program(lambda t: logits(t, t), ONE),
            InvalidProgramError,
            "use_kv_cache is True, but forward has 1 input:",
        ),
        (
            lambda: program(lambda t: logits(t, t), ONE, use_kv_cache=False),
            InvalidProgramError,
            "a model without a cache reads all tokens in each run; export it with dynamic_shapes",
        ),
        (
            lambda: program(logits, ONE, START, enable_dynamic_shape=True),
            InvalidProgramError,
            r"int64\[1, 1\], without a dynamic number of tokens: export the model with dynamic_shapes, or",
        ),
        (
            lambda: program(lambda t, s: logits(t, s[0]), ONE, torch.zeros(1, 1, dtype=torch.int64)),
            InvalidProgramError,
            r"input 1 of method 'forward' is int64\[1, 1\]: the position must be a tensor with one",
        ),
    ],
)
def test_what_is_no_text_model(make: Callable[[], bytes], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load(make())


def test_int32_tokens_and_a_position_without_dims() -> None:
    model = load(program(logits, ONE.int(), torch.tensor(0, dtype=torch.int32)))
    assert model.step(3, 4).tolist() == [7.0] * 5


def test_encoders() -> None:
    model = load(multimodal_program(), MultimodalModel)
    image = Image([0.5] * 192, 8, 8, 3)
    assert model.encode(image, "vision_encoder", "an image").shape == (1, 4, 32)
    assert model.read_embeddings(np.zeros((1, 10, 32), np.float32), 0).shape == (40,)
    with pytest.raises(InvalidArgumentError, match=r"takes float32\[1, 3, 8, 8\], not an image of shape"):
        model.encode(Image([0.5] * 48, 4, 4, 3), "vision_encoder", "an image")
    with pytest.raises(InvalidTypeError, match="the values of an image are uint8: convert them"):
        model.encode(Image([1] * 192, 8, 8, 3), "vision_encoder", "an image")
    with pytest.raises(NotFoundError, match="no method 'smell_encoder', which reads sound"):
        model.encode(Audio(), "smell_encoder", "sound")
    for shape in ((1, 3, 8), (2, 3, 32), (3, 32)):
        with pytest.raises(InvalidProgramError, match="but the encoder returns"):
            model.read_embeddings(np.zeros(shape, np.float32), 0)
    with pytest.raises(InvalidProgramError, match="no embeddings"):
        model.read_embeddings(np.zeros((1, 0, 32), np.float32), 0)


def test_multimodal_tokens_in_chunks() -> None:
    model = load(multimodal_program(), MultimodalModel)
    expected = [model.step(token, position) for position, token in enumerate(TOKENS)][-1]
    np.testing.assert_allclose(model.read_tokens(TOKENS, 0), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("missing", ["token_embedding", "text_decoder"])
def test_what_is_no_multimodal_model(missing: str) -> None:
    name = "text_decoder" if missing == "token_embedding" else "token_embedding"
    with pytest.raises(NotFoundError, match=f"the program has no method {missing!r}"):
        load(program(logits, ONE, START, name=name), MultimodalModel)


def test_metadata_alone_are_enough_for_one_token_at_a_time() -> None:
    model = load(with_metadata(get_max_seq_len=4))
    assert model.context_length == 4 and model.read_tokens([1, 2], 0).tolist() == [3.0] * 5


def test_metadata_of_the_program() -> None:
    assert load(text_program("forgetful")).context_length == 31  # the largest exported size
    assert load(text_program("started")).context_length == CACHED["get_max_context_len"]
