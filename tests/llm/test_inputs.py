"""Parts of prompts: their contents, and invalid values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rushlight.llm import (
    Audio,
    Image,
    MultimodalInput,
    RawAudio,
    make_audio_input,
    make_image_input,
    make_raw_audio_input,
    make_text_input,
    make_token_input,
)
from rushlight.runtime.errors import InvalidArgumentError, InvalidTypeError

PIXELS = torch.arange(24, dtype=torch.uint8).reshape(3, 2, 4)


def image_of(given: MultimodalInput) -> Image:
    image = given.get_image()
    assert image is not None
    return image


@pytest.mark.parametrize(
    "pixels",
    [PIXELS, PIXELS[None], PIXELS.permute(1, 2, 0), PIXELS.permute(1, 2, 0)[None], PIXELS.numpy()],
    ids=["chw", "1chw", "hwc", "1hwc", "numpy"],
)
def test_images_have_their_channels_first(pixels: Any) -> None:
    image = image_of(make_image_input(pixels))
    assert (image.width, image.height, image.channels) == (4, 2, 3)
    assert image.uint8_data == list(range(24)) and image.is_uint8() and not image.is_float()
    assert repr(image) == "<Image height=2 width=4 channels=3 dtype=uint8>"
    with pytest.raises(InvalidTypeError, match="the values are uint8, not float32"):
        _ = image.float_data


def test_an_image_is_a_copy() -> None:
    pixels = np.zeros((3, 2, 2), np.float32)
    image = image_of(make_image_input(pixels))
    pixels[:] = 1
    assert image.float_data == [0.0] * 12


def test_an_image_from_a_list() -> None:
    assert Image([1, 2, 3], 1, 1, 3).uint8_data == [1, 2, 3]
    assert Image([0.5, 1.0, 2.0], 1, 1, 3).float_data == [0.5, 1.0, 2.0]


def test_sound() -> None:
    audio = make_audio_input(torch.ones(1, 4, 5)).get_audio()
    assert audio is not None and (audio.batch_size, audio.n_bins, audio.n_frames) == (1, 4, 5)
    assert repr(audio) == "<Audio batch_size=1 n_bins=4 n_frames=5 dtype=float32>"
    raw = make_raw_audio_input(torch.ones(1, 2, 3, dtype=torch.uint8)).get_raw_audio()
    assert raw is not None and (raw.batch_size, raw.n_channels, raw.n_samples) == (1, 2, 3)
    assert raw.data == [1] * 6 and repr(raw) == "<RawAudio batch_size=1 n_channels=2 n_samples=3>"
    assert Audio().uint8_data == [] and RawAudio([1, 2], 1, 1, 2).uint8_data == [1, 2]


@pytest.mark.parametrize(
    ("given", "kind", "content"),
    [
        (make_text_input("hello"), "text", "hello"),
        (make_token_input((1, np.int64(2))), "tokens", [1, 2]),
        (MultimodalInput(Audio()), "audio", None),
        (MultimodalInput(RawAudio()), "raw_audio", None),
        (MultimodalInput(Image([0, 0, 0], 1, 1, 3)), "image", None),
    ],
)
def test_kinds(given: MultimodalInput, kind: str, content: Any) -> None:
    assert given.kind == kind
    questions = {name: getattr(given, f"is_{name}")() for name in ("text", "tokens", "image", "audio")}
    questions["raw_audio"] = given.is_raw_audio()
    assert [name for name, answer in questions.items() if answer] == [kind]
    got = {name: getattr(given, f"get_{name}")() for name in questions}
    assert [name for name, value in got.items() if value is not None] == [kind]
    assert content is None or got[kind] == content


def test_long_texts_are_cut_in_their_repr() -> None:
    assert repr(make_text_input("x" * 60)) == f'<MultimodalInput type=text content="{"x" * 50}...">'


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: make_image_input(torch.ones(2, 3, 4, 5)), InvalidArgumentError, "is 2 images"),
        (lambda: make_image_input(torch.ones(1, 4, 5)), InvalidArgumentError, r"not \[1, 4, 5\]"),
        (lambda: make_image_input(torch.ones(4, 5)), InvalidArgumentError, r"not \[4, 5\]"),
        (lambda: make_image_input(torch.ones(3, 4, 4).half()), InvalidTypeError, "not float16"),
        (lambda: make_image_input([1, 2]), InvalidTypeError, "an image must be a tensor, not a list"),
        (lambda: make_image_input(torch.ones(3, 4, 4).bfloat16()), InvalidTypeError, "an image"),
        (lambda: make_image_input(torch.ones(3, 4, 4, device="meta")), InvalidTypeError, "an image"),
        (lambda: make_audio_input(torch.ones(4, 5)), InvalidArgumentError, r"n_frames\], not \[4, 5\]"),
        (lambda: make_audio_input(torch.ones(1, 4, 5).double()), InvalidTypeError, "not float64"),
        (lambda: make_raw_audio_input(torch.ones(5)), InvalidArgumentError, r"n_samples\], not \[5\]"),
        (lambda: make_token_input([-1]), InvalidArgumentError, "0 or more, not -1"),
        (lambda: make_token_input([1.5]), InvalidTypeError, "an integer, not 1.5"),  # type: ignore[list-item]
        (lambda: make_token_input("12"), InvalidTypeError, "not a str"),  # type: ignore[arg-type]
        (lambda: make_text_input(b"x"), InvalidTypeError, "not a bytes"),  # type: ignore[arg-type]
        (lambda: MultimodalInput({"a": 1}), InvalidTypeError, "not a dict"),  # type: ignore[arg-type]
        (lambda: Image([1, 2], 1, 1, 3), InvalidArgumentError, "has 3 values, not 2"),
        (lambda: Image([1, 2, 300], 1, 1, 3), InvalidArgumentError, "from 0 to 255"),
        (lambda: Image(["a"], 1, 1, 1), InvalidTypeError, "must be numbers"),  # type: ignore[list-item]
        (lambda: Audio([], -1, -1, 0), InvalidArgumentError, "cannot have the shape"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
