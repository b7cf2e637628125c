"""The errors of emission."""

from __future__ import annotations

from collections.abc import Sequence

from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.errors import InternalError
from rushlight.ir.report import Refusal, refusal_table


class EmitError(InternalError):
    """A planned graph cannot be emitted as a program."""


def at_node(node: Node, reason: str) -> EmitError:
    """Returns an error that names the node, its operator and the line in the model's source code."""
    source = meta.source_of(node)
    where = f" from {source}: {source.code}" if source is not None else ""
    return EmitError(f"{node.name} ({node.target}){where}: {reason}")


class UnsupportedOperatorsError(EmitError):
    """The target does not have kernels that the program needs.

    Attributes:
        method: the name of the method.
        refusals: all uses of missing kernels.
    """

    def __init__(self, method: str, refusals: Sequence[Refusal]) -> None:
        self.method = method
        self.refusals = tuple(refusals)
        super().__init__(
            f"method {method!r} needs kernels that the target does not have\n{refusal_table(refusals)}"
        )
