"""The choice of the next token: `Sampler`."""

from __future__ import annotations

import math

import numpy as np

from rushlight.runtime._native import softmax_in_place
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
        odds = logits / np.float32(self._temperature) if self._temperature != 1 else logits.copy()
        softmax_in_place(odds)
        if self._top_p >= _DRAWN:
            # Draws among all tokens, until one is among the most probable ones, need no selection. Sums of
            # blocks are faster than running sums over all tokens.
            blocks = np.add.reduceat(odds, np.arange(0, odds.size, _BLOCK)).cumsum(dtype=np.float64)
            for _ in range(_DRAWS):
                start = _pick(blocks, self._random.random()) * _BLOCK
                shares = odds[start : start + _BLOCK].cumsum(dtype=np.float64)
                token = start + _pick(shares, self._random.random())
                if self._top_p >= 1 or _share_before(odds, token) < self._top_p * blocks[-1]:
                    return token
        tokens = _most_probable(odds, self._top_p)
        return int(tokens[_pick(odds[tokens].cumsum(dtype=np.float64), self._random.random())])


_DRAWN = 0.25
_DRAWS = 4
_BLOCK = 1024
_SORTED = 4096  # fewer tokens than this are sorted
_SAMPLE = 512


def _most_probable(odds: np.ndarray, top_p: float) -> np.ndarray:
    """Returns the fewest tokens that together have a share of the odds, in any order.

    Of tokens that are as probable, the first ones are taken. Odds are divided at pivots, as in a quickselect,
    so that the time is linear in their number.

    Args:
        odds: float32 [vocabulary], of the sum 1.
        top_p: the share, below 1.
    """
    needed = top_p * float(odds.sum())
    tokens = _candidates(odds, needed)
    values = odds[tokens]
    taken: list[np.ndarray] = []
    is_above = False  # whether the next pivot is to be above the last token that is needed
    while tokens.size > _SORTED:
        sample = np.sort(values[:: tokens.size // _SAMPLE])[::-1]
        shares = sample.cumsum(dtype=np.float64)
        place = int(np.searchsorted(shares, needed * shares[-1] / values.sum(dtype=np.float64)))
        place += -len(sample) // 32 if is_above else len(sample) // 32
        is_above = not is_above
        pivot = sample[min(max(place, 0), len(sample) - 1)]
        is_more = values > pivot
        if not is_more.any():
            is_more = values == pivot
            if is_more.all():
                break
        share = float(values[is_more].sum(dtype=np.float64))
        if share < needed:
            taken.append(tokens[is_more])
            needed -= share
            np.logical_not(is_more, out=is_more)
        tokens, values = tokens[is_more], values[is_more]
    order = np.argsort(-values, kind="stable")
    shares = values[order].cumsum(dtype=np.float64)
    return np.concatenate([*taken, tokens[order[: int(np.searchsorted(shares, needed)) + 1]]])


def _candidates(odds: np.ndarray, needed: float) -> np.ndarray:
    """Returns the tokens from some odds on, which together have at least the needed odds."""
    sample = np.sort(odds[:: odds.size // 2048 + 1])[::-1]
    shares = sample.cumsum(dtype=np.float64) * (odds.size / sample.size)
    place = int(np.searchsorted(shares, 1.25 * needed)) + 16
    if place < sample.size:
        is_candidate = odds >= sample[place]
        if float(odds @ is_candidate.astype(np.float32)) > 1.001 * needed:
            return np.flatnonzero(is_candidate)
    return np.flatnonzero(odds > 0)


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
