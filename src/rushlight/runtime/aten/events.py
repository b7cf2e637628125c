"""The event that a hook receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class InstructionEvent:
    """An instruction that has run. The tensors are copies.

    Attributes:
        chain: the index of the instruction's chain in the plan.
        index: the index of the instruction in its chain.
        kind: "kernel", "delegate", "move", "jump" or "free".
        name: the operator with its overload, such as "aten::add.out"; the name of the backend; or the kind.
        inputs: the values that the instruction read, as they were before it ran, in the order of its
            arguments.
        outputs: the values that the instruction wrote.
        written_inputs: the indices of the `inputs` that the instruction changed in place. Their new values
            are also in `outputs`.
        source: the line of the model's source code, or None if the program has no stack traces.
    """

    chain: int
    index: int
    kind: str
    name: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    written_inputs: tuple[int, ...] = ()
    source: str | None = None


Hook = Callable[[InstructionEvent], None]
