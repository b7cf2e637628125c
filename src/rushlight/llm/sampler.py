"""The selection of the next token: `Sampler`."""

from __future__ import annotations

import math

import numpy as np

from rushlight.runtime._native import softmax_in_place
from rushlight.runtime.errors import InvalidArgumentError


class Sampler:
    """Selects tokens from logits (nucleus sampling).

    Args:
        temperature: the logits are divided by this number; 0 selects the most probable token.
        top_p: tokens are sampled from the smallest set of most probable tokens whose total probability is at
            least this number.
        seed: the seed of the random numbers; None uses a seed from the operating system.
    """

    def __init__(self, temperature: float = 0.0, top_p: float = 1.0, seed: int | None = None) -> None:
        self._temperature = temperature
        self._top_p = top_p
        self._random = np.random.default_rng(seed) if temperature else None

    def __call__(self, logits: np.ndarray) -> int:
        """Returns a token.

        Args:
            logits: float [vocabulary]. They are not changed.

        Raises:
            InvalidArgumentError: a logit is NaN, or the largest one is infinite.
        """
        if logits.dtype != np.float32:
            logits = logits.astype(np.float32)
        best = int(logits.argmax())
        top = float(logits[best])  # NaN if any logit is NaN
        if math.isnan(top) or (self._random is not None and math.isinf(top)):
            raise InvalidArgumentError(f"the logit of token {best} is {top}; sampling needs finite logits")
        if self._random is None:
            return best
        probabilities = logits / np.float32(self._temperature) if self._temperature != 1 else logits.copy()
        softmax_in_place(probabilities)
        if self._top_p >= _MIN_REJECTION_TOP_P:
            # Rejection sampling: draw from all tokens until the token is in the set of most probable tokens.
            # This avoids the selection of the set. A draw first selects a block by its sum, then a token.
            blocks = np.add.reduceat(probabilities, np.arange(0, probabilities.size, _BLOCK)).cumsum(
                dtype=np.float64
            )
            for _ in range(_DRAWS):
                start = _pick(blocks, self._random.random()) * _BLOCK
                sums = probabilities[start : start + _BLOCK].cumsum(dtype=np.float64)
                token = start + _pick(sums, self._random.random())
                if self._top_p >= 1 or _probability_before(probabilities, token) < self._top_p * blocks[-1]:
                    return token
        tokens = _most_probable(probabilities, self._top_p)
        return int(tokens[_pick(probabilities[tokens].cumsum(dtype=np.float64), self._random.random())])


_MIN_REJECTION_TOP_P = 0.25  # a smaller top_p would reject most draws
_DRAWS = 4  # the largest number of draws of rejection sampling
_BLOCK = 1024  # tokens in a block
_SORTED = 4096  # up to this number of tokens, a sort is used
_SAMPLE = 512  # the approximate number of tokens from which a pivot is selected


def _most_probable(probabilities: np.ndarray, top_p: float) -> np.ndarray:
    """Returns the smallest set of most probable tokens with a total probability of `top_p`, in any order.

    Among tokens with equal probability, those with lower indices are selected. The tokens are partitioned at
    pivots, as in quickselect, so that the time is linear in the number of tokens.

    Args:
        probabilities: float32 [vocabulary], with the sum 1.
        top_p: the total probability, below 1.
    """
    needed = top_p * float(probabilities.sum())
    tokens = _candidates(probabilities, needed)
    values = probabilities[tokens]
    selected: list[np.ndarray] = []
    is_above = False  # whether the next pivot should be above the smallest selected probability
    while tokens.size > _SORTED:
        sample = np.sort(values[:: tokens.size // _SAMPLE])[::-1]
        sums = sample.cumsum(dtype=np.float64)
        place = int(np.searchsorted(sums, needed * sums[-1] / values.sum(dtype=np.float64)))
        place += -len(sample) // 32 if is_above else len(sample) // 32
        is_above = not is_above
        pivot = sample[min(max(place, 0), len(sample) - 1)]
        is_more = values > pivot
        if not is_more.any():
            is_more = values == pivot
            if is_more.all():
                break
        total = float(values[is_more].sum(dtype=np.float64))
        if total < needed:
            selected.append(tokens[is_more])
            needed -= total
            np.logical_not(is_more, out=is_more)
        tokens, values = tokens[is_more], values[is_more]
    order = np.argsort(-values, kind="stable")
    sums = values[order].cumsum(dtype=np.float64)
    return np.concatenate([*selected, tokens[order[: int(np.searchsorted(sums, needed)) + 1]]])


def _candidates(probabilities: np.ndarray, needed: float) -> np.ndarray:
    """Returns all tokens above some probability. Their total probability is at least `needed`."""
    sample = np.sort(probabilities[:: probabilities.size // 2048 + 1])[::-1]
    sums = sample.cumsum(dtype=np.float64) * (probabilities.size / sample.size)
    place = int(np.searchsorted(sums, 1.25 * needed)) + 16
    if place < sample.size:
        is_candidate = probabilities >= sample[place]
        if float(probabilities @ is_candidate.astype(np.float32)) > 1.001 * needed:
            return np.flatnonzero(is_candidate)
    return np.flatnonzero(probabilities > 0)


def _probability_before(probabilities: np.ndarray, token: int) -> float:
    """Returns the total probability of the tokens before `token` in the order of `_most_probable`."""
    own = probabilities[token]
    more = probabilities @ (probabilities > own).astype(np.float32)
    return float(more + own * np.count_nonzero(probabilities[:token] == own))


def _pick(sums: np.ndarray, draw: float) -> int:
    """Returns a random index. The weight of an index is its increment in the cumulative sums.

    Args:
        sums: the cumulative sums of the weights.
        draw: a random number, 0 <= draw < 1.
    """
    index = int(np.searchsorted(sums, draw * sums[-1], side="right"))
    return min(index, sums.size - 1)
