"""What a program of a language model says about itself: its constant methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rushlight.runtime import Program
from rushlight.runtime.errors import InvalidProgramError


@dataclass(frozen=True)
class Metadata:
    """The constant methods of a program of a language model.

    Attributes:
        max_seq_len: the most tokens of one run of the model.
        max_context_len: the most tokens that the model can have in its context.
        bos_id: the token for the beginning of a text, or None.
        eos_ids: the tokens that end a text.
        vocab_size: the number of tokens, or -1.
        use_kv_cache: the model keeps the keys and values of earlier tokens, and reads new tokens alone.
        use_sdpa_with_kv_cache: attention and the update of the cache are one operator.
        enable_dynamic_shape: the model takes several tokens at once.
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
        InvalidProgramError: get_max_seq_len is missing, or a method gives no number that it could mean.
    """
    max_seq_len = _number(program, "get_max_seq_len", 1)
    if max_seq_len is None:
        raise InvalidProgramError(
            "the program does not say how many tokens it takes: the constant method get_max_seq_len is "
            'missing. Compile with constant_methods={"get_max_seq_len": 128, ...}'
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
    """Returns the integers that a constant method gives; None if there is no such method."""
    if name not in program.method_names:
        return None
    meta = program.metadata(name)
    if meta.num_inputs():
        raise InvalidProgramError(f"{name} takes {meta.num_inputs()} inputs: a constant method takes none")
    values: list[Any] = []
    for output in program.load_method(name).execute([]):
        values += np.asarray(output).reshape(-1).tolist()
    for value in values:
        if not isinstance(value, int):
            raise InvalidProgramError(f"{name} gives {value!r}, not an integer")
    return values


def _number(program: Program, name: str, least: int) -> int | None:
    values = _numbers(program, name)
    if values is None:
        return None
    if len(values) != 1 or values[0] < least:
        raise InvalidProgramError(f"{name} gives {values}, not one integer from {least} on")
    return int(values[0])


def _flag(program: Program, name: str, default: bool) -> bool:
    value = _number(program, name, 0)
    return default if value is None else bool(value)
