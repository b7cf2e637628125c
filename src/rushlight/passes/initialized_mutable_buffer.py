"""Marks mutable buffers whose initial value must be part of the program file."""

from __future__ import annotations

from typing_extensions import override

from rushlight.ir import meta as keys
from rushlight.passes.export_pass import Argument, ExportPass, NodeMetadata, ProxyValue


class InitializedMutableBufferPass(ExportPass):
    """Keeps the initial value of each buffer whose input name contains one of `patterns`. Case is ignored.

    An initial value that is not all zeros is always written, also without this pass.
    """

    def __init__(self, patterns: list[str]) -> None:
        super().__init__()
        self.patterns = patterns

    @override
    def placeholder(self, name: str, arg: Argument, meta: NodeMetadata) -> ProxyValue:
        if any(pattern in name for pattern in self.patterns):
            meta[keys.INITIAL_STATE] = True
        return super().placeholder(name, arg, meta)
