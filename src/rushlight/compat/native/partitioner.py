"""The partitioner of ExecuTorch's native backend."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import final

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.operator_support import OperatorSupportBase

from rushlight.compat.native.backend import (
    EXTERNAL_CONSTANTS_TAG_KEY,
    PTN_SERIALIZATION_KEY,
    NativeBackend,
)
from rushlight.compat.native.passes import backend_inplace_aten_variants
from rushlight.delegate.backend import CompileSpec
from rushlight.delegate.constants import tag_constant_data, tag_mutated_buffer
from rushlight.delegate.grouping import form_parts
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.ir import meta
from rushlight.ir.control_flow import COND, control_flow_submodules, is_delegate_call
from rushlight.ir.edge_ops import aten_op

FURTHER_OPS: tuple[OpOverload, ...] = (
    torch.ops.aten.matmul.default,
    torch.ops.aten.linear.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten.scaled_dot_product_attention.default,
)
"""The operators outside Core ATen that the native backend has. They are not decomposed."""


class NativeSupportedOperators(OperatorSupportBase):
    """Selects the operators of the native backend: Core ATen, copying views, and a few further operators."""

    def __init__(self) -> None:
        self._further = {*FURTHER_OPS, *backend_inplace_aten_variants()}

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """Returns whether the native backend has the operator of a node.

        Args:
            submodules: not used.
            node: the node. Control flow operators are not supported here.
        """
        op = aten_op(node.target) if node.op == "call_function" else None
        if op is None:
            return False
        return op in self._further or torch.Tag.core in op.tags or torch.Tag.view_copy in op.tags


def unsupported_nodes(module: GraphModule) -> list[Node]:
    """Returns the nodes that the native backend does not have, also those in the branches of torch.cond.

    Args:
        module: the module with the graph.
    """
    support = NativeSupportedOperators()
    return [missing for node in module.graph.nodes for missing in _unsupported_in(node, module, support)]


def _unsupported_in(node: Node, module: GraphModule, support: NativeSupportedOperators) -> list[Node]:
    """Returns the node, or the nodes in its branches if it is a torch.cond, that are not supported."""
    if node.op != "call_function" or _is_item(node) or support.is_node_supported({}, node):
        return []
    branches = [body for _, body, owner in control_flow_submodules(module, (COND,)) if owner is node]
    if not branches:
        return [node]
    return [inner for body in branches for inner in unsupported_nodes(body)]


def _is_item(node: Node) -> bool:
    return node.target is operator.getitem and isinstance(node.args[0], Node)


@final
class NativePartitioner(Partitioner):
    """Delegates all nodes that the native backend has, in as few partitions as possible.

    Args:
        external_constants_tag: the name of the data file for constants; None for the program file.
        _serialize_as_ptn: return constants in the metadata of the lowered modules. `to_executorch` then
            makes an incomplete program. It requires `external_constants_tag=None`.

    Raises:
        ValueError: `_serialize_as_ptn` is combined with `external_constants_tag`.
    """

    def __init__(
        self, external_constants_tag: str | None = "native_weights", *, _serialize_as_ptn: bool = False
    ) -> None:
        super().__init__()
        specs = []
        if external_constants_tag is not None:
            if _serialize_as_ptn:
                raise ValueError(
                    "external_constants_tag only applies to the constants of program files; pass None with "
                    "_serialize_as_ptn=True"
                )
            specs.append(CompileSpec(EXTERNAL_CONSTANTS_TAG_KEY, external_constants_tag.encode()))
        if _serialize_as_ptn:
            specs.append(CompileSpec(PTN_SERIALIZATION_KEY, b"1"))
        self.delegation_spec = DelegationSpec(NativeBackend.__name__, specs)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[OpOverload], Callable[[Node], bool] | None]:
        """Returns the operators of the program that the native backend has although they are not Core ATen.

        Args:
            ep: the ATen program of a method, before decomposition. If it contains delegates, no operator is
                preserved.

        Returns:
            The operators, and None.
        """
        if any(is_delegate_call(node) for node in ep.graph.nodes):
            return [], None
        used = dict.fromkeys(node.target for node in ep.graph.nodes if node.op == "call_function")
        return [op for op in used if op in FURTHER_OPS], None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes that the native backend has, with their constants and buffers.

        Args:
            exported_program: the edge program of a method, whose nodes get the tags.

        Returns:
            The given program, and the backend of each tag.
        """
        module = exported_program.graph_module
        support = NativeSupportedOperators()
        tags: dict[str, DelegationSpec] = {}
        parts = form_parts(module.graph, lambda node: not _unsupported_in(node, module, support))
        for part in parts:
            tag = f"native_{len(tags)}"
            tags[tag] = self.delegation_spec
            for node in part:
                meta.set_delegation_tag(node, tag)
        tag_constant_data(exported_program)
        tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, tags)
