"""Passes that change their graph module in place, as the ExecuTorch passes with the same names do."""

from __future__ import annotations

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult
from typing_extensions import override

from rushlight.passes.base import graph_modules
from rushlight.passes.fold_quantize_pairs import FoldQuantizePairsPass
from rushlight.passes.memory_views import NormalizeViewBasesPass


class FoldRedundantDequantizeQuantizePass(FoldQuantizePairsPass):
    """Removes a dequantize operator that is followed by a quantize operator with the same parameters."""

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module and its submodules, in place."""
        return PassResult(graph_module, self.rewrite_all(graph_module))


class NormalizeViewCopyBasePass(NormalizeViewBasesPass):
    """Replaces views of views by views of the first base. Views without users are not removed."""

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module and its submodules, in place."""
        changed = False
        for module in list(graph_modules(graph_module)):
            if self.rewrite(module):
                module.recompile()
                changed = True
        return PassResult(graph_module, changed)
