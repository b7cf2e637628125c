"""Incremental decoding of tokens to text: `TextStream`."""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.llm.tokenizer import Tokenizer

_CONTEXT = 4  # prompt tokens that are decoded too, because they can change the spaces of the next token
_LONGEST = 64  # after this number of tokens, text is returned even if its last character is incomplete


class TextStream:
    """Decodes tokens to pieces of text. A piece contains only complete characters.

    The concatenation of the pieces is the text of all tokens. The text of a token can depend on the tokens
    before it, and a character can consist of several tokens. Each piece is therefore the difference between
    two texts: the text of the last tokens with the new tokens, and without them.

    Args:
        tokenizer: decodes the tokens.
        before: the tokens of the prompt. Their text is not returned.
    """

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._tokens = list(before[-_CONTEXT:])
        self._returned = len(self._tokens)  # the number of tokens whose text was returned
        self._text = tokenizer.decode(self._tokens) if self._tokens else ""

    def push(self, token: int) -> str:
        """Adds a token, and returns the text that the token completes. It may be empty.

        Args:
            token: the next token.
        """
        self._tokens.append(token)
        text = self._tokenizer.decode(self._tokens)
        if text.endswith("\N{REPLACEMENT CHARACTER}") and len(self._tokens) - self._returned < _LONGEST:
            return ""
        return self._take(text)

    def finish(self) -> str:
        """Returns the remaining text, which may end with an incomplete character."""
        if self._returned == len(self._tokens):
            return ""
        return self._take(self._tokenizer.decode(self._tokens))

    def _take(self, text: str) -> str:
        piece = text[len(self._text) :]
        self._tokens = self._tokens[self._returned :]
        self._returned = len(self._tokens)
        self._text = self._tokenizer.decode(self._tokens)
        return piece
