"""The pieces of a text stream together are the text of all tokens."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.llm.programs import Words

from rushlight.llm.text_stream import TextStream
from rushlight.llm.tokenizer import Tokenizer


class Bytes:
    """A tokenizer whose tokens are bytes."""

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode(errors="replace")


class Sentence(Words):
    """A tokenizer that removes the space before the first word, as SentencePiece does."""

    def decode(self, tokens: Sequence[int]) -> str:
        return super().decode(tokens).removeprefix(" ")


def pieces(stream: TextStream, tokens: Sequence[int]) -> list[str]:
    return [stream.push(token) for token in tokens] + [stream.finish()]


@pytest.mark.parametrize("text", ["plain", "grüße", "日本語 🦊 text", "a\N{REPLACEMENT CHARACTER}b", ""])
def test_characters_of_several_tokens_come_whole(text: str) -> None:
    tokenizer = Tokenizer(Bytes())
    found = pieces(TextStream(tokenizer), tokenizer.encode(text))
    assert "".join(found) == text
    if "\N{REPLACEMENT CHARACTER}" not in text:
        assert [piece for piece in found if piece] == list(text)


def test_incomplete_characters_come_at_the_end() -> None:
    found = pieces(TextStream(Tokenizer(Bytes())), [97, 0xE6, 0x97])
    assert found[:-1] == ["a", "", ""] and set(found[-1]) == {"\N{REPLACEMENT CHARACTER}"}


def test_bytes_that_are_never_complete_do_not_wait_forever() -> None:
    found = pieces(TextStream(Tokenizer(Bytes())), [0xFF] * 200)
    assert sum(map(bool, found)) >= 3 and len("".join(found)) == 200


def test_spaces_between_the_prompt_and_the_text() -> None:
    tokenizer = Tokenizer(Sentence())
    assert pieces(TextStream(tokenizer), [1, 2]) == ["w1", " w2", ""]
    assert pieces(TextStream(tokenizer, [8, 9]), [1, 2]) == [" w1", " w2", ""]
    assert pieces(TextStream(tokenizer, list(range(30))), [1]) == [" w1", ""]
