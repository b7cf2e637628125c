"""Errors of emission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.errors import CompileError


class EmitError(CompileError):
    """A planned graph that cannot be written as a program."""


def at_node(node: Node, reason: str) -> EmitError:
    """An error that names the node, its operator and the user's line."""
    source = meta.source_of(node)
    where = f" from {source}: {source.code}" if source is not None else ""
    return EmitError(f"{node.name} ({node.target}){where}: {reason}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One use of an operator that the target has no kernel for."""

    operator: str
    dtype: str
    source: str
    remedy: str


class UnsupportedOperatorsError(EmitError):
    """The program needs kernels that the target's kernel table lacks; `refusals` lists every use."""

    def __init__(self, method: str, refusals: Sequence[Refusal]) -> None:
        self.method = method
        self.refusals = tuple(refusals)
        header = Refusal("operator", "dtype", "source", "what would help")
        rows = [(r.operator, r.dtype, r.source, r.remedy) for r in (header, *self.refusals)]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = [
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
            for row in rows
        ]
        super().__init__(
            f"method {method!r} uses {len(self.refusals)} operators that the target cannot run\n"
            + "\n".join(lines)
        )
