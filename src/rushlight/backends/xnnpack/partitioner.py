"""Partitioners that give nodes to XnnpackBackend."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node

from rushlight.backends.xnnpack.backend import XnnpackBackend
from rushlight.backends.xnnpack.facts import ConfigPrecisionType, Facts, argument, transposed_constant
from rushlight.backends.xnnpack.support import KEPT, operation, why_not
from rushlight.delegate.constants import tag_constant_data
from rushlight.delegate.grouping import form_parts
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.delegate.report import WhyNoPartition, WhyNoPartitionReporter
from rushlight.ir import meta
from rushlight.ir.control_flow import control_flow_submodules

logger = logging.getLogger(__name__)
aten = torch.ops.aten
# Position of the weight among the arguments.
_WEIGHTS = {aten.linear.default: 1, aten.addmm.default: 2, aten.mm.default: 1}


class XnnpackPartitioner(Partitioner):
    """Gives XNNPACK every node it takes, in as few parts as possible.

    configs: the operators to take, as ATen overloads or their names ("add.Tensor"); all by default.
    config_precisions: which precisions to take; all by default. per_op_mode: a part for every node.
    verbose: logs why nodes are not taken. Options: force_non_static_weights_for_f32_linear: weights of float
    matrix products are arguments of the delegate; enable_bf16: bfloat16 matrix products are taken.

    After `partition`, `report` has the reason for every node that stays.
    """

    def __init__(
        self,
        configs: Sequence[Any] | None = None,
        config_precisions: ConfigPrecisionType | Sequence[ConfigPrecisionType] | None = None,
        per_op_mode: bool = False,
        verbose: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        unknown = kwargs.keys() - {"force_non_static_weights_for_f32_linear", "enable_bf16"}
        if unknown:
            raise TypeError(f"XnnpackPartitioner has no option {sorted(unknown)[0]!r}")
        if verbose:
            logger.setLevel(logging.DEBUG)
        self.delegation_spec = DelegationSpec(XnnpackBackend.__name__, [])
        self.per_op_mode = per_op_mode
        self._names = None if configs is None else {_name_of(config) for config in configs}
        precisions = (
            [config_precisions] if isinstance(config_precisions, ConfigPrecisionType) else config_precisions
        )
        self.precisions = frozenset(precisions or ConfigPrecisionType)
        self._bf16 = bool(kwargs.get("enable_bf16", False))
        self._weights_as_arguments = bool(kwargs.get("force_non_static_weights_for_f32_linear", False))
        self.report = WhyNoPartitionReporter()

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        facts = self._facts(ep)
        return list(KEPT), lambda node: self._reason(node, facts) is None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        facts = self._facts(exported_program)
        self.report = WhyNoPartitionReporter()
        tags: dict[str, DelegationSpec] = {}
        self._tag(exported_program.graph_module, facts, tags)
        tag_constant_data(exported_program)
        if self._weights_as_arguments:
            self._release_weights(exported_program.graph, facts)
        return PartitionResult(exported_program, tags)

    def _facts(self, program: ExportedProgram) -> Facts:
        return Facts.of(program, enable_bf16=self._bf16, dynamic_weights=self._weights_as_arguments)

    def _tag(self, module: GraphModule, facts: Facts, tags: dict[str, DelegationSpec]) -> None:
        taken: set[Node] = set()
        groups: list[list[Node]] = []
        log = WhyNoPartition(logger)
        for node in module.graph.nodes:
            if node.op != "call_function" or _is_item(node):
                continue
            reason = self._reason(node, facts)
            if reason is not None:
                self.report.report_reject(node, reason)
                log(node, reason)
                continue
            taken.add(node)
            position = _WEIGHTS.get(operation(node))
            weight = argument(node, position) if position is not None else None
            if weight is not None and transposed_constant(facts, weight) is not None:
                groups.append([weight, node])
            groups += [[source, node] for source in node.all_input_nodes if facts.is_cast(source)]
        if self.per_op_mode:
            parts = [[node, *(user for user in node.users if _is_item(user))] for node in taken]
        else:
            parts = form_parts(module.graph, taken.__contains__, _merged(groups))
        for part in parts:
            if all(facts.is_constant(node) or transposed_constant(facts, node) for node in part):
                continue  # nothing of it would be left to compute
            tag = f"xnnpack_{len(tags)}"
            tags[tag] = self.delegation_spec
            for node in part:
                meta.set_delegation_tag(node, tag)
        for _, child, node in control_flow_submodules(module):
            if meta.get_delegation_tag(node) is None:
                self._tag(child, facts, tags)

    def _reason(self, node: Node, facts: Facts) -> str | None:
        if ConfigPrecisionType.FP32 not in self.precisions:
            return "floating point nodes are not asked for"
        if self._names is not None and str(operation(node)).removeprefix("aten.") not in self._names:
            return "the operator is not asked for"
        return why_not(node, facts)

    @staticmethod
    def _release_weights(graph: Graph, facts: Facts) -> None:
        for node in graph.nodes:
            position = _WEIGHTS.get(operation(node)) if node.op == "call_function" else None
            if position is not None and meta.get_delegation_tag(node) is not None:
                weight = argument(node, position)
                if facts.is_constant(weight):
                    meta.clear_delegation_tag(weight)


class XnnpackFloatingPointPartitioner(XnnpackPartitioner):
    """Takes floating point nodes only."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.FP32)


class XnnpackQuantizedPartitioner(XnnpackPartitioner):
    """Takes statically quantized nodes only."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.STATIC_QUANT)


class XnnpackDynamicallyQuantizedPartitioner(XnnpackPartitioner):
    """Takes dynamically quantized nodes only."""

    def __init__(self, **kwargs: Any) -> None:
        if "config_precisions" in kwargs:
            raise ValueError("XnnpackDynamicallyQuantizedPartitioner is for DYNAMIC_QUANT alone")
        super().__init__(config_precisions=ConfigPrecisionType.DYNAMIC_QUANT, **kwargs)


def _name_of(config: Any) -> str:
    return str(getattr(config, "target_name", config)).removeprefix("aten.")


def _is_item(node: Node) -> bool:
    return getattr(node.target, "__name__", "") == "getitem"


def _merged(groups: list[list[Node]]) -> list[list[Node]]:
    """Groups that share nodes as one."""
    of: dict[Node, list[Node]] = {}
    for group in groups:
        together = list(dict.fromkeys(member for node in group for member in of.get(node, [node])))
        for node in together:
            of[node] = together
    return list({id(group): group for group in of.values()}.values())
