"""Fuses quantized operators for the kernels of a target. Tensors then stay quantized between operators."""

from __future__ import annotations

from typing_extensions import override

from rushlight.ir.facts import MethodProgram
from rushlight.passes.base import ProgramPass, eliminate_dead_code
from rushlight.passes.fuse_lookup import fuse_lookups
from rushlight.passes.fuse_quantized_weights import fuse_quantized_weights
from rushlight.passes.fuse_static_quantized import fuse_static
from rushlight.passes.move_dequantize import move_dequantize
from rushlight.passes.quantized_rewriter import Available, Rewriter

_QUANTIZED = "quantized_decomposed"


class FuseQuantizedPass(ProgramPass):
    """Fuses dequantize, compute, quantize into the `ir.quantized_ops` operators that the target supports.

    Args:
        available: returns whether the target has a kernel for an operator and a dtype. Other operators are
            not fused.
    """

    def __init__(self, available: Available) -> None:
        self._available = available

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        if not any(getattr(node.target, "namespace", "") == _QUANTIZED for node in program.graph.nodes):
            return False
        rewriter = Rewriter(program, self._available)
        for step in (move_dequantize, fuse_static, fuse_quantized_weights, fuse_lookups, move_dequantize):
            step(rewriter)
            eliminate_dead_code(program.graph)
        return rewriter.changed
