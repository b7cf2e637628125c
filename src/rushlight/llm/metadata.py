"""The metadata of a language model's program, which are the results of its constant methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rushlight.runtime import Program
from rushlight.runtime.errors import InvalidProgramError


@dataclass(frozen=True)
class Metadata:
    """The results of the constant methods of a language model's program.

    Attributes:
        max_seq_len: the largest number of tokens in one run of the model.
        max_context_len: the largest number of tokens in the context of the model.
        bos_id: the beginning-of-text (BOS) token, or None.
        eos_ids: the end-of-text (EOS) tokens.
        vocab_size: the number of tokens in the vocabulary, or -1 if it is not known.
        use_kv_cache: whether the model stores the keys and values of earlier tokens, so that it reads only
            new tokens.
        use_sdpa_with_kv_cache: whether one operator computes attention and updates the cache.
        enable_dynamic_shape: whether one run of the model can read several tokens.
    """

    max_seq_len: int
    max_context_len: int
    bos_id: int | None = None
    eos_ids: frozenset[int] = frozenset()
    vocab_size: int = -1
    use_kv_cache: bool = True
    use_sdpa_with_kv_cache: bool = False
    enable_dynamic_shape: bool = False


def read_metadata(program: Program) -> Metadata:
    """Reads the constant methods of a program.

    Args:
        program: the program.

    Raises:
        InvalidProgramError: get_max_seq_len is missing, or a method returns an invalid value.
    """
    max_seq_len = _number(program, "get_max_seq_len", 1)
    if max_seq_len is None:
        raise InvalidProgramError(
            "the maximum number of tokens of the program is not known: the constant method get_max_seq_len "
            'is missing. Compile with constant_methods={"get_max_seq_len": 128, ...}'
        )
    eos = _numbers(program, "get_eos_ids") or _numbers(program, "get_eos_id") or []
    vocab_size = _number(program, "get_vocab_size", 1)
    return Metadata(
        max_seq_len=max_seq_len,
        max_context_len=_number(program, "get_max_context_len", 1) or max_seq_len,
        bos_id=_number(program, "get_bos_id", 0),
        eos_ids=frozenset(eos),
        vocab_size=-1 if vocab_size is None else vocab_size,
        use_kv_cache=_flag(program, "use_kv_cache", True),
        use_sdpa_with_kv_cache=_flag(program, "use_sdpa_with_kv_cache", False),
        enable_dynamic_shape=_flag(program, "enable_dynamic_shape", False),
    )


def _numbers(program: Program, name: str) -> list[int] | None:
    """Returns the integers that a constant method returns, or None if there is no such method."""
    if name not in program.method_names:
        return None
    meta = program.metadata(name)
    if meta.num_inputs():
        raise InvalidProgramError(f"{name} takes inputs, but a constant method has none")
    values: list[Any] = []
    for output in program.load_method(name).execute([]):
        values += np.asarray(output).reshape(-1).tolist()
    for value in values:
        if not isinstance(value, int):
            raise InvalidProgramError(f"{name} returns {value!r}, not an integer")
    return values


def _number(program: Program, name: str, minimum: int) -> int | None:
    values = _numbers(program, name)
    if values is None:
        return None
    if len(values) != 1 or values[0] < minimum:
        raise InvalidProgramError(f"{name} returns {values}; it must return one integer, {minimum} or more")
    return int(values[0])


def _flag(program: Program, name: str, default: bool) -> bool:
    value = _number(program, name, 0)
    return default if value is None else bool(value)
