"""Removes nodes without users."""

from __future__ import annotations

from torch.fx import GraphModule
from typing_extensions import override

from rushlight.passes.base import GraphPass, eliminate_dead_code


class RemoveDeadCodePass(GraphPass):
    """Erases operators without users and without side effects. Inputs stay."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        return eliminate_dead_code(module.graph)
