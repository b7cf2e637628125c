"""Text from tokens, one at a time: `TextStream`."""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.llm.tokenizer import Tokenizer

_CONTEXT = 4  # tokens before the first one, which say whether it begins with a space
_LONGEST = 64  # tokens after which text is given even if its last character may be incomplete


class TextStream:
    """Gives the text of tokens as soon as their characters are complete.

    The pieces together are the text of all tokens. A tokenizer may decode a token alone in another way than
    among others, and a character may be in several tokens. Each piece is therefore the difference between the
    texts of the last tokens with and without the new ones.

    Args:
        tokenizer: decodes the tokens.
        before: tokens of the prompt, which are not given.
    """

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._tokens = list(before[-_CONTEXT:])
        self._given = len(self._tokens)  # tokens whose text was given
        self._text = tokenizer.decode(self._tokens) if self._tokens else ""

    def push(self, token: int) -> str:
        """Returns the text that a token completes, which may be empty.

        Args:
            token: the next token.
        """
        self._tokens.append(token)
        text = self._tokenizer.decode(self._tokens)
        if text.endswith("\N{REPLACEMENT CHARACTER}") and len(self._tokens) - self._given < _LONGEST:
            return ""
        return self._take(text)

    def finish(self) -> str:
        """Returns the text of tokens that do not end with a complete character."""
        if self._given == len(self._tokens):
            return ""
        return self._take(self._tokenizer.decode(self._tokens))

    def _take(self, text: str) -> str:
        piece = text[len(self._text) :]
        self._tokens = self._tokens[self._given :]
        self._given = len(self._tokens)
        self._text = self._tokenizer.decode(self._tokens)
        return piece
