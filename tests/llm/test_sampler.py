"""The tokens that a sampler selects, and their frequencies."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.llm.sampler import Sampler, _most_probable
from rushlight.runtime._native import softmax_in_place
from rushlight.runtime.errors import InvalidArgumentError

LOGITS = np.log(np.array([0.05, 0.5, 0.15, 0.3], np.float32))


def shares(sampler: Sampler, logits: np.ndarray, draws: int = 20000) -> np.ndarray:
    drawn = [sampler(logits) for _ in range(draws)]
    return np.bincount(drawn, minlength=logits.size) / draws


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_without_temperature_the_most_probable_token(dtype: type) -> None:
    assert Sampler()(LOGITS.astype(dtype)) == 1


def test_tokens_are_as_frequent_as_probable() -> None:
    np.testing.assert_allclose(shares(Sampler(1.0, seed=1), LOGITS), [0.05, 0.5, 0.15, 0.3], atol=0.015)


def test_a_low_temperature_prefers_probable_tokens() -> None:
    sharper = np.array([0.05, 0.5, 0.15, 0.3]) ** 2  # temperature 0.5
    np.testing.assert_allclose(shares(Sampler(0.5, seed=1), LOGITS), sharper / sharper.sum(), atol=0.015)


def test_top_p_leaves_improbable_tokens_out() -> None:
    # 0.5 + 0.3 is 0.8. The third token is needed for 0.9, and the last one is not.
    expected = np.array([0, 0.5, 0.15, 0.3]) / 0.95
    np.testing.assert_allclose(shares(Sampler(1.0, 0.9, seed=1), LOGITS), expected, atol=0.015)
    assert shares(Sampler(1.0, 0.1, seed=1), LOGITS, 100)[1] == 1


def test_top_p_over_many_equal_tokens() -> None:
    assert (shares(Sampler(1.0, 0.5, seed=1), np.zeros(10), 2000) > 0).sum() == 5


def test_a_seed_repeats_the_tokens() -> None:
    def draw(seed: int) -> list[int]:
        sampler = Sampler(1.0, 0.9, seed)
        return [sampler(LOGITS) for _ in range(20)]

    assert draw(3) == draw(3) != draw(4)


def test_logits_stay_unchanged() -> None:
    logits = LOGITS.copy()
    Sampler(1.0, 0.9, 1)(logits)
    assert np.array_equal(logits, LOGITS)


def test_minus_infinity_is_never_drawn() -> None:
    logits = np.array([-np.inf, 0, -np.inf, 0], np.float32)
    for top_p in (0.9, 1.0):
        found = shares(Sampler(1.0, top_p, 1), logits, 200)
        assert found[0] == found[2] == 0 and found[1] > 0 and found[3] > 0


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_nan(temperature: float) -> None:
    with pytest.raises(InvalidArgumentError, match="the logit of token 2 is nan"):
        Sampler(temperature)(np.array([1, 2, np.nan, 3], np.float32))


def test_infinite_odds() -> None:
    with pytest.raises(InvalidArgumentError, match="the logit of token 1 is inf"):
        Sampler(1.0)(np.array([1, np.inf], np.float32))


def test_large_vocabularies() -> None:
    logits = np.full(5000, -np.inf, np.float32)
    logits[[0, 1023, 1024, 4999]] = np.log([0.1, 0.2, 0.3, 0.4])
    found = shares(Sampler(1.0, seed=1), logits, 5000)[[0, 1023, 1024, 4999]]
    np.testing.assert_allclose(found, [0.1, 0.2, 0.3, 0.4], atol=0.03)
    found = shares(Sampler(1.0, 0.65, seed=1), logits, 5000)[[0, 1023, 1024, 4999]]
    np.testing.assert_allclose(found, [0, 0, 3 / 7, 4 / 7], atol=0.03)


@pytest.mark.parametrize("kind", ["flat", "peaked", "levels", "equal", "one far above"])
@pytest.mark.parametrize("top_p", [1e-4, 0.1, 0.5, 0.99])
def test_the_most_probable_tokens_are_those_of_a_sort(kind: str, top_p: float) -> None:
    random = np.random.default_rng(0)
    logits = {
        "flat": random.normal(0, 1, 30000),
        "peaked": random.normal(0, 4, 30000),
        "levels": random.integers(-3, 3, 30000),
        "equal": np.zeros(30000),
        "one far above": np.append(random.normal(0, 1, 29999), 9),
    }[kind].astype(np.float32)
    odds = np.exp(logits - logits.max())
    odds /= odds.sum()
    order = np.argsort(-odds, kind="stable")
    shares = odds[order].cumsum(dtype=np.float64)
    expected = order[: int(np.searchsorted(shares, top_p * shares[-1])) + 1]
    found = _most_probable(odds, top_p)
    assert len(set(found)) == len(found)
    # Sums in another order round differently, which may add or remove tokens with very small probabilities.
    others = list(set(found) ^ set(expected))
    assert len(others) <= 2 or odds[others].sum() < 1e-4 * top_p
    if kind in ("levels", "equal"):  # the first ones of equal tokens
        last = odds[expected].min()
        ties = np.flatnonzero(odds == last)
        chosen = np.intersect1d(found, ties)
        assert np.array_equal(chosen, ties[: len(chosen)])


def test_softmax_in_place() -> None:
    values = np.array([1, 2, -np.inf, 3], np.float32)
    softmax_in_place(values)
    expected = np.exp([1.0, 2, -np.inf, 3])
    np.testing.assert_allclose(values, expected / expected.sum(), rtol=1e-6)
    softmax_in_place(np.empty(0, np.float32))
    read_only = np.ones(2, np.float32)
    read_only.flags.writeable = False
    for wrong in (np.ones(2), np.ones((2, 2), np.float32), np.ones(4, np.float32)[::2], read_only):
        with pytest.raises(InvalidArgumentError, match="dense float32 array"):
            softmax_in_place(wrong)
    with pytest.raises((InvalidArgumentError, TypeError)):
        softmax_in_place([1.0, 2.0])
