"""The choice of the next token: `Sampler`."""

from __future__ import annotations

import math

import numpy as np

from rushlight.runtime.errors import InvalidArgumentError


class Sampler:
    """Chooses tokens from logits.

    Args:
        temperature: the logits are divided by it; 0 takes the most probable token.
        top_p: tokens are drawn from the most probable ones, which together have this probability.
        seed: of the random numbers; None takes one of the system.
    """

    def __init__(self, temperature: float = 0.0, top_p: float = 1.0, seed: int | None = None) -> None:
        self._temperature = temperature
        self._top_p = top_p
        self._random = np.random.default_rng(seed) if temperature else None

    def __call__(self, logits: np.ndarray) -> int:
        """Returns a token.

        Args:
            logits: float [vocabulary], which stay unchanged.

        Raises:
            InvalidArgumentError: a logit is NaN, or the largest one is infinite.
        """
        if logits.dtype != np.float32:
            logits = logits.astype(np.float32)
        best = int(logits.argmax())
        top = float(logits[best])  # NaN if one of the logits is
        if math.isnan(top) or (self._random is not None and math.isinf(top)):
            raise InvalidArgumentError(f"the logit of token {best} is {top}, so that no token can be chosen")
        if self._random is None:
            return best
        odds = logits - np.float32(top)
        odds /= np.float32(self._temperature)
        np.exp(odds, out=odds)
        # Draws among all tokens, until one is among the most probable ones, need no sorting. Sums of blocks
        # are faster than running sums over all tokens.
        blocks = np.add.reduceat(odds, np.arange(0, odds.size, _BLOCK)).cumsum(dtype=np.float64)
        for _ in range(_DRAWS):
            start = _pick(blocks, self._random.random()) * _BLOCK
            shares = odds[start : start + _BLOCK].cumsum(dtype=np.float64)
            token = start + _pick(shares, self._random.random())
            if self._top_p >= 1 or _share_before(odds, token) < self._top_p * blocks[-1]:
                return token
        tokens = np.argsort(-odds, kind="stable")
        sorted_shares = odds[tokens].cumsum(dtype=np.float64)
        count = int(np.searchsorted(sorted_shares, self._top_p * sorted_shares[-1])) + 1
        return int(tokens[_pick(sorted_shares[:count], self._random.random())])


_DRAWS = 8
_BLOCK = 1024


def _share_before(odds: np.ndarray, token: int) -> float:
    """Returns the sum of the odds of tokens that are more probable, or as probable and before it."""
    own = odds[token]
    more = odds @ (odds > own).astype(np.float32)
    return float(more + own * np.count_nonzero(odds[:token] == own))


def _pick(shares: np.ndarray, draw: float) -> int:
    """Returns an index with a probability in proportion to its odds.

    Args:
        shares: the sums of the odds up to each index.
        draw: from 0 up to 1.
    """
    index = int(np.searchsorted(shares, draw * shares[-1], side="right"))
    return min(index, shares.size - 1)
