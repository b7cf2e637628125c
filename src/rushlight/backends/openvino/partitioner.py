"""The partitioner of OpenvinoBackend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import final

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from rushlight.backends.openvino.backend import OpenvinoBackend
from rushlight.backends.openvino.convert import aten_name, is_item, paired_dequantizes
from rushlight.backends.openvino.support import Support
from rushlight.delegate.backend import CompileSpec
from rushlight.delegate.constants import tag_constant_data
from rushlight.delegate.grouping import form_parts
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.delegate.report import WhyNoPartitionReporter
from rushlight.ir import meta
from rushlight.ir.constants import constant_inputs, is_graph_of

aten = torch.ops.aten
PRESERVED_OPS = (
    aten.pixel_shuffle.default,
    aten.upsample_bilinear2d.vec,
    aten.upsample_nearest2d.vec,
    aten.stack.default,
)


@final
class OpenvinoPartitioner(Partitioner):
    """Delegates each node that OpenVINO's PyTorch frontend converts, in as few partitions as possible.

    After `partition`, the attribute `report` contains the reason for every node that is not delegated.

    Args:
        compile_spec: options whose values are text: `device` (by default CPU), and properties of OpenVINO
            such as INFERENCE_PRECISION_HINT.
        op_types_to_skip: operators that are not delegated, such as "aten.add.Tensor".
        op_names_to_skip: names of nodes that are not delegated.
    """

    def __init__(
        self,
        compile_spec: Sequence[CompileSpec] = (),
        op_types_to_skip: Collection[str] | None = None,
        op_names_to_skip: Collection[str] | None = None,
    ) -> None:
        super().__init__()
        self.delegation_spec = DelegationSpec(OpenvinoBackend.__name__, list(compile_spec))
        self._types = frozenset(op_types_to_skip or ())
        self._names = frozenset(op_names_to_skip or ())
        self.report = WhyNoPartitionReporter()

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Returns the operators that OpenVINO supports without decomposition.

        Args:
            ep: the ATen program of a method, before decomposition.

        Returns:
            The operators, and a function that returns whether OpenVINO supports a node that calls one of
            them. It returns False for nodes inside control flow, which are not delegated.
        """
        support = Support(constant_inputs(ep))
        is_own: dict[Graph, bool] = {}

        def accepts(node: Node) -> bool:
            if node.graph not in is_own:
                is_own[node.graph] = is_graph_of(ep, node.graph)
            return is_own[node.graph] and support.unsupported_reason(node) is None

        return list(PRESERVED_OPS), accepts

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes that OpenVINO supports, except nodes inside control flow.

        The attribute `report` then contains the reason for every node without a tag.

        Args:
            exported_program: the edge program of a method, whose nodes get the tags.

        Returns:
            The given program, and the backend of each tag.
        """
        support = Support(constant_inputs(exported_program))
        self.report = WhyNoPartitionReporter()
        graph = exported_program.graph
        supported: set[Node] = set()
        for node in graph.nodes:
            if node.op != "call_function" or is_item(node):
                continue
            reason = self._skipped(node) or support.unsupported_reason(node)
            if reason is None:
                supported.add(node)
            else:
                self.report.report_reject(node, reason)
        tags: dict[str, DelegationSpec] = {}
        for part in form_parts(graph, supported.__contains__, _groups(graph, supported, support)):
            tag = f"openvino_{len(tags)}"
            tags[tag] = self.delegation_spec
            for node in part:
                meta.set_delegation_tag(node, tag)
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)

    def _skipped(self, node: Node) -> str | None:
        if aten_name(node) in self._types or node.name in self._names:
            return "the options of the partitioner exclude it"
        return None


def _groups(graph: Graph, supported: set[Node], support: Support) -> list[list[Node]]:
    """Returns groups of nodes that must be in the same partition.

    A quantize node is in the group of the nodes that dequantize its result. A node that depends only on
    constants is in the group of its users.
    """
    of: dict[Node, list[Node]] = {}
    fixed: set[Node] = set()
    for node in graph.nodes:
        if node.op == "call_function" and all(
            s in fixed or support.is_constant(s) for s in node.all_input_nodes
        ):
            fixed.add(node)
        users = list(node.users) if node in fixed else paired_dequantizes(node)
        if node in supported and users and all(user in supported for user in users):
            members = [member for item in (node, *users) for member in of.get(item, [item])]
            together = list(dict.fromkeys(members))
            of.update(dict.fromkeys(together, together))
    return list({id(group): group for group in of.values()}.values())
