"""The options of text generation: `GenerationConfig`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rushlight.runtime.errors import InvalidArgumentError


@dataclass(kw_only=True)
class GenerationConfig:
    """The options of one call of a runner.

    Attributes:
        echo: also pass the prompt to the callback, before the generated text.
        max_new_tokens: the largest number of generated tokens; -1 means no limit.
        warming: the call is a warm-up. Without a callback, nothing is printed.
        seq_len: the largest number of tokens in the context, including the prompt; -1 means no limit.
        temperature: the logits are divided by this number before a token is sampled. 0 selects the most
            probable token.
        num_bos: the number of beginning-of-text (BOS) tokens before the prompt.
        num_eos: the number of end-of-text (EOS) tokens after the prompt.
        top_p: tokens are sampled from the smallest set of most probable tokens whose total probability is at
            least this number; 1 samples from all tokens.
        seed: the seed of the random numbers; None uses a different sequence in each call.
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
        """Returns the number of tokens that may be generated.

        Args:
            max_context_len: the largest number of tokens in the context of the model.
            num_tokens_occupied: the number of tokens in the context, including the prompt.
        """
        end = max_context_len if self.seq_len == -1 else min(self.seq_len, max_context_len)
        remaining = end - num_tokens_occupied
        return max(0, remaining if self.max_new_tokens == -1 else min(remaining, self.max_new_tokens))

    def check(self) -> None:
        """Raises InvalidArgumentError if the value of a field is invalid. The message names the field."""
        for name in ("max_new_tokens", "seq_len"):
            if getattr(self, name) < -1:
                raise InvalidArgumentError(
                    f"{name} is {getattr(self, name)}: it must be a number of tokens, or -1 for no limit"
                )
        for name in ("num_bos", "num_eos"):
            if getattr(self, name) < 0:
                raise InvalidArgumentError(f"{name} is {getattr(self, name)}: it must be 0 or more")
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise InvalidArgumentError(f"temperature is {self.temperature}: it must be finite, and 0 or more")
        if not 0 < self.top_p <= 1:
            raise InvalidArgumentError(f"top_p is {self.top_p}: it must be more than 0, and at most 1")
        if self.seed is not None and self.seed < 0:
            raise InvalidArgumentError(f"seed is {self.seed}: it must be 0 or more, or None")

    def __repr__(self) -> str:
        return (
            f"<GenerationConfig max_new_tokens={self.max_new_tokens} seq_len={self.seq_len} "
            f"temperature={self.temperature:f} echo={self.echo} warming={self.warming}>"
        )
