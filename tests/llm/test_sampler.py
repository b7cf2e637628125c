"""Which tokens a sampler chooses, and how often."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.llm.sampler import Sampler
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
    # 0.5 + 0.3 are 0.8: the third token is needed to have 0.9, the last one is not.
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
