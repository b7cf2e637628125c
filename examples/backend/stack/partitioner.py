"""Selects the nodes for the backend."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from rushlight.delegate.constants import tag_constant_data, tag_mutated_buffer
from rushlight.delegate.grouping import form_parts
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.delegate.report import WhyNoPartitionReporter
from rushlight.ir.control_flow import control_flow_submodules
from stack.backend import OPERATIONS, StackBackend


class StackPartitioner(Partitioner):
    """Selects add, sub and mul whose operands and result are float32 with the same static shape.

    After partition(), `reporter` contains the reason for each node that was not selected.
    """

    def __init__(self) -> None:
        super().__init__()
        self.reporter = WhyNoPartitionReporter()
        self._part = DelegationSpec(StackBackend.__name__, [])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags: dict[str, DelegationSpec] = {}
        self._tag(exported_program.graph_module, tags)
        tag_constant_data(exported_program)
        tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, tags)

    def _tag(self, module: GraphModule, tags: dict[str, DelegationSpec]) -> None:
        for part in form_parts(module.graph, self._is_supported):
            tag = f"stack_{len(tags)}"
            tags[tag] = self._part
            for node in part:
                node.meta["delegation_tag"] = tag
        for _, body, _ in control_flow_submodules(module):
            self._tag(body, tags)

    def _is_supported(self, node: Node) -> bool:
        reason = _unsupported_reason(node)
        if reason:
            self.reporter.report_reject(node, reason)
        return not reason


def _unsupported_reason(node: Node) -> str:
    """Returns the reason why the backend does not support a node, or an empty text if it supports it."""
    operator = str(getattr(node.target, "_op", node.target))
    if operator not in OPERATIONS:
        return f"the backend supports only {', '.join(OPERATIONS)}"
    if node.kwargs.get("alpha", 1) != 1:
        return f"alpha is {node.kwargs['alpha']}, not 1"
    values = [node.meta["val"], *(argument.meta["val"] for argument in node.args)]
    if any(not isinstance(value, torch.Tensor) or value.dtype != torch.float32 for value in values):
        return "the operands and the result must be float32 tensors"
    if any(value.shape != values[0].shape for value in values):
        return "the operands have different shapes"
    if any(not isinstance(size, int) for size in values[0].shape):
        return "the shape is not static"
    return ""
