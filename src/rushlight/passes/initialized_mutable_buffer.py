"""Marks on mutable buffers whose initial value is part of the program."""

from __future__ import annotations

from typing_extensions import override

from rushlight.ir import meta as keys
from rushlight.passes.export_pass import Argument, ExportPass, NodeMetadata, ProxyValue


class InitializedMutableBufferPass(ExportPass):
    """Keeps the initial value of each buffer whose input name contains one of `patterns`, ignoring case.

    An initial value other than zero is always written, without this pass too.
    """

    def __init__(self, patterns: list[str]) -> None:
        super().__init__()
        self.patterns = patterns

    @override
    def placeholder(self, name: str, arg: Argument, meta: NodeMetadata) -> ProxyValue:
        if any(pattern in name for pattern in self.patterns):
            meta[keys.INITIAL_STATE] = True
        return super().placeholder(name, arg, meta)
