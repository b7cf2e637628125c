"""The fusion of quantized operators, as a pass that users can run."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from typing_extensions import override

from rushlight.compat.graph_passes import constant_prop_pass
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.ir import meta
from rushlight.ir.edge_ops import BackendOpOverload, is_op, ops, to_edge_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.quantization import PerChannelDequantize
from rushlight.passes.base import eliminate_dead_code
from rushlight.passes.fuse_quantized import FuseQuantizedPass
from rushlight.passes.quantized_rewriter import Rewriter
from rushlight.passes.runner import run_passes


class QuantFusionPass(FuseQuantizedPass):
    """Fuses dequantize, compute and quantize operators into quantized operators of the edge dialect.

    The pass uses only operators for which this package has kernels.

    Args:
        _fix_node_meta_val: must be True, because the pass always computes the values of new nodes.
        node_value_dict: stored tensors by the name of their placeholder, as `_get_node_value_dict` returns
            them. The pass reads the tensors from the program, and checks that they are these tensors.

    Raises:
        ValueError: `_fix_node_meta_val` is False; or, when the pass runs, the program stores another tensor
            under a name of `node_value_dict`.
    """

    def __init__(
        self,
        _fix_node_meta_val: bool = True,
        node_value_dict: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        super().__init__(ExecutorchBackendConfig().has_kernel)
        if not _fix_node_meta_val:
            raise ValueError(
                "_fix_node_meta_val=False is not supported, because the pass always computes the values of "
                "new nodes; use _fix_node_meta_val=True"
            )
        self.node_value_dict = dict(node_value_dict or {})

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        self._check_values(program)
        changed = super().rewrite(program) | _fuse_computed_embeddings(program)
        for node in program.graph.nodes:
            if isinstance(node.target, BackendOpOverload) and node.target.namespace == "quantized_decomposed":
                node.target = to_edge_op(node.target._op)
        return changed

    def _check_values(self, program: ExportedProgram) -> None:
        stored = get_node_value_dict(program)
        for name, tensor in self.node_value_dict.items():
            found = stored.get(name)
            if found is None:
                raise ValueError(f"node_value_dict: the program stores no tensor named {name!r}")
            if found is not tensor and not (found.dtype == tensor.dtype and torch.equal(found, tensor)):
                raise ValueError(f"node_value_dict: the program stores another tensor as {name!r}")


def _fuse_computed_embeddings(program: MethodProgram) -> bool:
    """Fuses embeddings whose uint8 weights are computed by the program, not stored.

    Before: y = aten.embedding(dequantize_per_channel(w, scales, zeros, 0, min, max, uint8), indices)
    Expected: y = quantized_decomposed.embedding_byte(w, scales, zeros, min, max, indices)
    """
    rewriter = Rewriter(program, ExecutorchBackendConfig().has_kernel)
    target = ops.backend.quantized_decomposed.embedding_byte.default
    if not rewriter.available(target, torch.uint8):
        return False
    for node in list(program.graph.nodes):
        if not is_op(node, torch.ops.aten.embedding.default) or meta.get_dtype(node) != torch.float32:
            continue
        channels = PerChannelDequantize.of(node.args[0])
        if channels is None or channels.axis != 0:
            continue
        weight, scales, zeros = channels.source, channels.scale, channels.zero_point
        if meta.get_dtype(weight) != torch.uint8:
            continue
        if any(given and meta.get_dtype(given) != torch.float32 for given in (scales, zeros)):
            continue
        limits = (channels.quant_min, channels.quant_max)
        rewriter.replace(node, rewriter.call(node, target, (weight, scales, zeros, *limits, node.args[1])))
    eliminate_dead_code(program.graph)
    return rewriter.changed


def quant_fusion_and_const_prop_pass(program: ExportedProgram) -> ExportedProgram:
    """Fuses quantized operators, and replaces operators on constants by stored results.

    Args:
        program: an edge program; it is not changed.

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
