"""What a hook is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class InstructionEvent:
    """An instruction that has run. Tensors are copies.

    Attributes:
        chain, index: its place in the plan.
        kind: "kernel", "delegate", "move", "jump" or "free".
        name: the operator with its overload, such as "aten::add.out", or the backend's id, or the kind.
        inputs: the values that it read, as they were before it ran, in the order of its arguments.
        outputs: the values that it wrote.
        written_inputs: which of `inputs` it wrote in place; these are in `outputs` too.
        source: the line of the user's Python, if the program was emitted with stack traces.
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
