"""Text from text, images and sound: the same tokens as eager PyTorch."""

from __future__ import annotations

from collections import UserDict
from typing import Any

import pytest
import torch
from tests.llm.programs import (
    END,
    Words,
    greedy,
    greedy_embeddings,
    llama,
    multimodal,
    multimodal_program,
    text,
    text_program,
)

from rushlight.llm import (
    GenerationConfig,
    MultimodalRunner,
    Stats,
    make_audio_input,
    make_image_input,
    make_raw_audio_input,
    make_text_input,
    make_token_input,
)
from rushlight.runtime.errors import InvalidArgumentError, InvalidTypeError, NotFoundError

torch.manual_seed(1)
IMAGE, OTHER, SOUND = torch.rand(3, 8, 8), torch.rand(3, 8, 8), torch.rand(1, 6, 5)


def config(**options: Any) -> GenerationConfig:
    return GenerationConfig(**{"echo": False, "temperature": 0, "max_new_tokens": 6, **options})


def runner() -> MultimodalRunner:
    return MultimodalRunner(multimodal_program(), Words())


def expected(*parts: Any, count: int = 6) -> str:
    """Returns the text of eager PyTorch after tokens (lists), images (3 dims) and sound (first size 1)."""
    model, eyes, ears = multimodal()
    found = []
    with torch.no_grad():
        for part in parts:
            if isinstance(part, list):
                found.append(model.tokens(torch.tensor([part])))
            else:
                found.append(eyes(part[None]) if part.shape[0] == 3 else ears(part))
    return text(greedy_embeddings(found, count))


@pytest.mark.parametrize(
    ("inputs", "parts"),
    [
        ([make_text_input("w5 w9"), make_token_input([7])], [[5, 9, 7]]),
        ([make_text_input("w5"), make_image_input(IMAGE), make_text_input("w9")], [[5], IMAGE, [9]]),
        ([make_image_input(IMAGE.permute(1, 2, 0)), make_image_input(OTHER)], [IMAGE, OTHER]),
        ([make_audio_input(SOUND), make_text_input("w9")], [SOUND, [9]]),
        ([make_raw_audio_input(SOUND), make_text_input("w9")], [SOUND, [9]]),
        ([make_text_input(" ".join(["w4"] * 20)), make_image_input(IMAGE)], [[4] * 20, IMAGE]),
    ],
    ids=["text", "image", "images", "sound", "raw sound", "chunks"],
)
def test_greedy_tokens_are_eagers(inputs: Any, parts: Any) -> None:
    stats: list[Stats] = []
    pieces: list[str] = []
    runner().generate(inputs, config(), pieces.append, stats.append)
    assert "".join(pieces) == expected(*parts)
    sizes = {3: 4, 1: 5}  # positions of an image, of sound
    assert stats[0].num_prompt_tokens == sum(
        len(part) if isinstance(part, list) else sizes[part.shape[0]] for part in parts
    )


def test_text_alone_gives_what_the_text_model_gives() -> None:
    assert runner().generate_text([make_text_input("w5 w9")], config()) == text(greedy(llama(), [5, 9], 6))


def test_images_differ() -> None:
    found = {
        runner().generate_text([make_image_input(image), make_text_input("w9")], config())
        for image in (IMAGE * 5, -OTHER * 5)
    }
    assert len(found) == 2


def test_a_chat() -> None:
    chat = runner()
    chat.prefill([make_text_input("w5"), make_image_input(IMAGE)])
    first = chat.generate_text([make_text_input("w9")], config(max_new_tokens=2))
    assert first == expected([5], IMAGE, [9], count=2)
    written = [int(word[1:]) for word in first.split()]
    assert len(written) == 2
    second = chat.generate_text([make_image_input(OTHER)], config(max_new_tokens=3))
    assert second == expected([5], IMAGE, [9, *written], OTHER, count=3)


def test_echo_is_the_last_text() -> None:
    parts = [make_text_input("w5"), make_text_input("w9")]
    found = runner().generate_text(parts, config(echo=True))
    assert found == "w9" + expected([5, 9])
    found = runner().generate_text([make_text_input("w5"), make_token_input([9])], config(echo=True))
    assert found == expected([5, 9])


def test_tokens_for_the_beginning_and_the_end() -> None:
    found = runner().generate_text([make_image_input(IMAGE)], config(num_bos=1, num_eos=1))
    assert found == expected([1], IMAGE, [END])


class Features(UserDict):
    """The result of a processor of the package transformers."""


def test_what_a_processor_gives() -> None:
    ids = torch.tensor([[5, 39, 39, 39, 39, 9, 39, 39]])
    pixels = torch.stack([IMAGE, OTHER])
    given = Features(input_ids=ids, pixel_values=pixels)
    answer = expected([5], IMAGE, [9], OTHER)
    assert runner().generate_text_hf(given, config(), 39) == answer
    pieces: list[str] = []
    runner().generate_hf(dict(given), config(), 39, pieces.append)
    assert "".join(pieces) == answer
    one = {"input_ids": ids[0, :6], "pixel_values": IMAGE}
    assert runner().generate_text_hf(one, config(), 39) == expected([5], IMAGE, [9])
    assert runner().generate_text_hf({"input_ids": [[5, 9]]}, config()) == expected([5, 9])
    assert runner().generate_text_hf([make_text_input("w5 w9")], config()) == expected([5, 9])


@pytest.mark.parametrize(
    ("inputs", "token", "error", "message"),
    [
        ({"ids": [1]}, None, InvalidArgumentError, "inputs must have input_ids, but have only ids"),
        ({"input_ids": [[1], [2]]}, None, InvalidArgumentError, r"not int64 \[2, 1\]"),
        ({"input_ids": [0.5]}, None, InvalidArgumentError, r"not float64 \[1\]"),
        (
            {"input_ids": [1], "pixel_values": IMAGE},
            None,
            InvalidArgumentError,
            "also pass image_token_id",
        ),
        (
            {"input_ids": [1, 39, 2, 39], "pixel_values": IMAGE},
            39,
            InvalidArgumentError,
            "2 sequences of the image token 39, but pixel_values have 1 images",
        ),
        ({"input_ids": [39]}, 39, InvalidArgumentError, "1 sequences of the image token 39, but .* have 0"),
        (3, None, InvalidTypeError, "not a int"),
    ],
)
def test_what_a_processor_does_not_give(
    inputs: Any, token: int | None, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        runner().generate_hf(inputs, config(), token)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ([], InvalidArgumentError, "the prompt has no tokens"),
        ("w5", InvalidTypeError, "must be a list of parts, not a str"),
        (["w5"], InvalidTypeError, "must be a MultimodalInput, not a str"),
        ([make_image_input(torch.ones(3, 4, 4))], InvalidArgumentError, "vision_encoder takes"),
        ([make_audio_input(torch.ones(1, 9, 5))], InvalidArgumentError, "audio_encoder takes"),
        ([make_token_input([99])], InvalidArgumentError, "the token 99"),
        ([make_image_input(IMAGE)] * 9, InvalidArgumentError, "36 tokens"),
    ],
)
def test_what_is_refused_leaves_the_context(inputs: Any, error: type[Exception], message: str) -> None:
    chat = runner()
    with pytest.raises(error, match=message):
        chat.generate(inputs, config())
    assert chat.generate_text([make_text_input("w5")], config()) == expected([5])


def test_a_text_model() -> None:
    with pytest.raises(NotFoundError, match="no method 'token_embedding'"):
        MultimodalRunner(text_program("started"), Words())
