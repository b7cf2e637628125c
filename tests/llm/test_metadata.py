"""The values of constant methods, and invalid values."""

from __future__ import annotations

from typing import Any

import pytest
from tests.llm.programs import CACHED, CONTEXT, text_program, with_metadata

from rushlight.llm.metadata import Metadata, read_metadata
from rushlight.runtime import Runtime
from rushlight.runtime.errors import InvalidProgramError


def read(program: bytes) -> Metadata:
    return read_metadata(Runtime.get().load_program(program))


def test_all_methods() -> None:
    assert read(text_program("started")) == Metadata(
        max_seq_len=8,
        max_context_len=CONTEXT,
        bos_id=1,
        eos_ids=frozenset(CACHED["get_eos_ids"]),  # type: ignore[call-overload]
        vocab_size=40,
        use_kv_cache=True,
        use_sdpa_with_kv_cache=False,
        enable_dynamic_shape=True,
    )


def test_defaults() -> None:
    assert read(with_metadata(get_max_seq_len=7)) == Metadata(max_seq_len=7, max_context_len=7)


@pytest.mark.parametrize("ends", [5, (5, 6)])
def test_ends(ends: Any) -> None:
    found = read(with_metadata(get_max_seq_len=7, get_eos_ids=ends)).eos_ids
    assert found == {5, 6} if isinstance(ends, tuple) else found == {5}


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({}, "get_max_seq_len is missing. Compile with constant_methods="),
        ({"get_max_seq_len": 0}, r"get_max_seq_len returns \[0\]; it must return one integer, 1 or more"),
        ({"get_max_seq_len": 7.5}, "get_max_seq_len returns 7.5, not an integer"),
        (
            {"get_max_seq_len": 7, "get_bos_id": (1, 2)},
            r"get_bos_id returns \[1, 2\]; it must return one integer",
        ),
        ({"get_max_seq_len": 7, "get_bos_id": "<s>"}, "get_bos_id returns '<s>', not an integer"),
    ],
)
def test_what_is_refused(constants: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProgramError, match=message):
        read(with_metadata(**constants))


def test_a_constant_method_takes_no_inputs() -> None:
    import torch

    import rushlight

    module = torch.nn.Linear(2, 2)
    program = rushlight.compile(
        {"get_max_seq_len": module}, {"get_max_seq_len": (torch.ones(1, 2),)}, partitioner=()
    )
    with pytest.raises(InvalidProgramError, match="get_max_seq_len takes inputs"):
        read(program.buffer)
