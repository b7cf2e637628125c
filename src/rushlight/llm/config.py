"""How a runner of language models generates: `GenerationConfig`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rushlight.runtime.errors import InvalidArgumentError


@dataclass(kw_only=True)
class GenerationConfig:
    """What one call of a runner generates, and when it ends.

    Attributes:
        echo: give the prompt to the callback too, before the generated text.
        max_new_tokens: the largest number of generated tokens; -1 sets no such limit.
        warming: this call only warms up the machine: without a callback, nothing is printed.
        seq_len: the largest number of tokens in the context, prompt included; -1 sets no such limit.
        temperature: the logits are divided by it before a token is drawn; 0 takes the most probable token.
        num_bos: how often the token for the beginning of a text is put before the prompt.
        num_eos: how often the token for the end of a text is put behind the prompt.
        top_p: a token is drawn from the most probable ones, which together have at least this probability;
            1 draws from all tokens.
        seed: of the random numbers; None draws another sequence in each call.
    """

    echo: bool = True
    max_new_tokens: int = -1
    warming: bool = False
    seq_len: int = -1
    temperature: float = 0.8
    num_bos: int = 0
    num_eos: int = 0
    top_p: float = 0.9
    seed: int | None = None

    def resolve_max_new_tokens(self, max_context_len: int, num_tokens_occupied: int) -> int:
        """Returns how many tokens may be generated.

        Args:
            max_context_len: the tokens that the model can have in its context.
            num_tokens_occupied: the tokens that are in the context, prompt included.
        """
        end = max_context_len if self.seq_len == -1 else min(self.seq_len, max_context_len)
        remaining = end - num_tokens_occupied
        return max(0, remaining if self.max_new_tokens == -1 else min(remaining, self.max_new_tokens))

    def check(self) -> None:
        """Raises InvalidArgumentError if a field has a value that has no meaning; the message names it."""
        for name in ("max_new_tokens", "seq_len"):
            if getattr(self, name) < -1:
                raise InvalidArgumentError(
                    f"{name} is {getattr(self, name)}: give a number of tokens, or -1 for no limit"
                )
        for name in ("num_bos", "num_eos"):
            if getattr(self, name) < 0:
                raise InvalidArgumentError(f"{name} is {getattr(self, name)}: give 0 or more")
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise InvalidArgumentError(f"temperature is {self.temperature}: give 0 or more")
        if not 0 < self.top_p <= 1:
            raise InvalidArgumentError(f"top_p is {self.top_p}: give more than 0, and at most 1")
        if self.seed is not None and self.seed < 0:
            raise InvalidArgumentError(f"seed is {self.seed}: give 0 or more, or None")

    def __repr__(self) -> str:
        return (
            f"<GenerationConfig max_new_tokens={self.max_new_tokens} seq_len={self.seq_len} "
            f"temperature={self.temperature:f} echo={self.echo} warming={self.warming}>"
        )
