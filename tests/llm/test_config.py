"""The number of tokens that a configuration allows, and invalid values."""

from __future__ import annotations

import pytest

from rushlight.llm import GenerationConfig
from rushlight.runtime.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("seq_len", "most", "occupied", "expected"),
    [
        (-1, -1, 4, 60),
        (-1, 3, 4, 3),
        (-1, 100, 4, 60),
        (10, -1, 4, 6),
        (10, 3, 4, 3),
        (10, 100, 4, 6),
        (200, -1, 4, 60),
        (5, -1, 10, 0),
        (-1, -1, 70, 0),
        (-1, 0, 4, 0),
    ],
)
def test_the_smallest_limit_counts(seq_len: int, most: int, occupied: int, expected: int) -> None:
    config = GenerationConfig(seq_len=seq_len, max_new_tokens=most)
    assert config.resolve_max_new_tokens(64, occupied) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_new_tokens", -2),
        ("seq_len", -2),
        ("num_bos", -1),
        ("num_eos", -1),
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("top_p", 0.0),
        ("top_p", 1.5),
        ("seed", -1),
    ],
)
def test_values_without_a_meaning(name: str, value: float) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{name} is {value}"):
        GenerationConfig(**{name: value}).check()  # type: ignore[arg-type]


def test_the_defaults_are_executorchs() -> None:
    config = GenerationConfig()
    config.check()
    assert repr(config) == (
        "<GenerationConfig max_new_tokens=-1 seq_len=-1 temperature=0.800000 echo=True warming=False>"
    )
