"""Fusion of quantized operators as a pass that users call themselves."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from typing_extensions import override

from rushlight.compat.graph_passes import constant_prop_pass
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.ir.edge_ops import BackendOpOverload, to_edge_op
from rushlight.ir.facts import MethodProgram
from rushlight.passes.fuse_quantized import FuseQuantizedPass
from rushlight.passes.runner import run_passes


class QuantFusionPass(FuseQuantizedPass):
    """Fuses dequantize, compute, quantize into quantized operators of the edge dialect that this package's
    kernels have.

    Args:
        _fix_node_meta_val: whether values in the metadata are computed; they always are.
        node_value_dict: constants by the name of their placeholder; the program itself has them.
    """

    def __init__(
        self,
        _fix_node_meta_val: bool = False,
        node_value_dict: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        super().__init__(ExecutorchBackendConfig().has_kernel)

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        changed = super().rewrite(program)
        for node in program.graph.nodes:
            if isinstance(node.target, BackendOpOverload) and node.target.namespace == "quantized_decomposed":
                node.target = to_edge_op(node.target._op)
        return changed


def quant_fusion_and_const_prop_pass(program: ExportedProgram) -> ExportedProgram:
    """Fuses quantized operators, and replaces operators over constants by stored results.

    Args:
        program: an edge program, which stays as it is.

    Returns:
        The new program.
    """
    return constant_prop_pass(run_passes(program, [QuantFusionPass()]).exported_program)


def get_node_value_dict(program: ExportedProgram) -> dict[str, torch.Tensor]:
    """Returns the stored parameters and buffers of a program by the name of their placeholder."""
    kinds = (InputKind.PARAMETER, InputKind.BUFFER)
    return {
        spec.arg.name: program.state_dict[spec.target]
        for spec in program.graph_signature.input_specs
        if spec.kind in kinds and spec.target in program.state_dict
    }
