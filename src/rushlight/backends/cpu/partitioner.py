"""The partitioner of CpuBackend."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Mapping

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from typing_extensions import override

from rushlight.backends.cpu.backend import CpuBackend, compile_specs
from rushlight.backends.cpu.folding import constants_of_plan
from rushlight.backends.cpu.lower.int8_functions import int8_functions
from rushlight.backends.cpu.lower.nodes import dtype_of, operation
from rushlight.backends.cpu.lower.quantized import QUANTIZED
from rushlight.backends.cpu.lower.quantized_lowering import MOVES
from rushlight.backends.cpu.lower.row import Category
from rushlight.backends.cpu.lower.table import is_in
from rushlight.backends.cpu.lower.unsupported import PRESERVED_OPS, unsupported_reason
from rushlight.backends.cpu.lower.unsupported_quantized import reject_needless_conversions
from rushlight.backends.cpu.options import Float32MatmulPrecision, Options, chosen_precision
from rushlight.backends.cpu.plan.bindings import expresses, shapes_of
from rushlight.backends.cpu.plan.builder import DTYPES
from rushlight.backends.cpu.plan.tensor import FLOAT16_TYPES
from rushlight.backends.cpu.target import host_target, target_named
from rushlight.delegate.constants import tag_constant_data, tag_mutated_buffer
from rushlight.delegate.grouping import form_parts, merge_overlapping
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.delegate.report import WhyNoPartition, WhyNoPartitionReporter
from rushlight.ir import meta
from rushlight.ir.constants import Constants, constant_inputs, constants_of_graph
from rushlight.ir.control_flow import control_flow_submodules
from rushlight.ir.edge_ops import is_op
from rushlight.ir.quantization import dynamic_quantization, linear_operands

logger = logging.getLogger(__name__)


class CpuPartitioner(Partitioner):
    """Delegates each node that a plan of CpuBackend can express, in as few partitions as possible.

    After `partition`, the attribute `report` contains the reason for every node that is not delegated.

    Args:
        target: the instruction set to compile for: generic, avx2, avx512, neon, rvv or rvv256. The default is
            the instruction set of this machine. The program also runs on machines with other instruction
            sets, where the runtime packs the weights again when it loads the program.
        float32_matmul_precision: "highest" computes float32 products and convolutions in full float32. "high"
            allows block floating-point products and faster Winograd convolutions; their total error stays
            within 1e-3 of the largest result.
        compact: whether the file contains the untransformed weights of Winograd convolutions, which need up
            to four times fewer bytes. The runtime then transforms them when it loads the program, which takes
            longer and needs memory for the transformed weights.
        weights: torch.float16 or torch.bfloat16 stores float32 weights in 16 bits. This halves the size of
            the weights in the file, and the number of bytes that products with few rows read. Sums are still
            computed in float32.
        verbose: whether to log the reason for every node that is not delegated.
        exact: deprecated. True means float32_matmul_precision="highest", False means "high".

    Raises:
        ValueError: the target, the precision or the dtype of weights is unknown.
    """

    decomposes_leftovers = True

    def __init__(
        self,
        target: str | None = None,
        *,
        float32_matmul_precision: Float32MatmulPrecision = "highest",
        compact: bool = False,
        weights: torch.dtype | None = None,
        verbose: bool = False,
        exact: bool | None = None,
    ) -> None:
        super().__init__()
        float32_matmul_precision = chosen_precision(float32_matmul_precision, exact)
        if weights not in (None, torch.float32, *FLOAT16_TYPES):
            raise ValueError(
                f"weights takes torch.float32, torch.float16 or torch.bfloat16, but {weights!r} is given"
            )
        if verbose:
            logger.setLevel(logging.DEBUG)
        chosen = host_target() if target is None else target_named(target)
        self.delegation_spec = DelegationSpec(
            CpuBackend.__name__, compile_specs(Options(chosen, float32_matmul_precision, compact, weights))
        )
        self.report = WhyNoPartitionReporter()

    @override
    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Returns the operators that the CPU backend supports without decomposition.

        Args:
            ep: the ATen program of a method, before decomposition.

        Returns:
            The operators, and a function that returns whether the backend supports a node that calls one of
            them.
        """
        known: dict[Graph, Constants] = {}

        def accepts(node: Node) -> bool:
            if node.graph not in known:
                stored = constants_of_graph(ep, node.graph)
                known[node.graph] = constants_of_plan(stored, node.graph)
            return unsupported_reason(node, known[node.graph]) is None

        return list(PRESERVED_OPS), accepts

    @override
    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes that the CPU backend supports, also in graphs inside control flow.

        The attribute `report` then contains the reason for every node without a tag.

        Args:
            exported_program: the edge program of a method, whose nodes get the tags.

        Returns:
            The given program, and the backend of each tag.
        """
        self.report = WhyNoPartitionReporter()
        tags: dict[str, DelegationSpec] = {}
        self._tag(exported_program.graph_module, constant_inputs(exported_program), tags)
        tag_constant_data(exported_program)
        tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, tags)

    def _tag(
        self, module: GraphModule, stored: Mapping[str, torch.Tensor], tags: dict[str, DelegationSpec]
    ) -> None:
        """Tags the nodes of a graph and of the graphs inside its control flow.

        Args:
            module: the graph.
            stored: the values of the inputs that are constants.
            tags: receives the backend of each new tag.
        """
        graph = module.graph
        constants, supported = self._constants_and_supported_nodes(graph, stored)
        for part in self._parts(graph, supported, constants, Constants(stored, graph)):
            if not _is_large_enough(part, constants):
                continue
            if not _has_known_sizes(part):
                for node in part:
                    self.report.report_reject(
                        node,
                        "a size in its partition does not follow from the sizes of the partition's inputs",
                    )
                continue
            tag = f"cpu_{len(tags)}"
            tags[tag] = self.delegation_spec
            for node in part:
                meta.set_delegation_tag(node, tag)
        for _, body, _ in control_flow_submodules(module):
            self._tag(body, {}, tags)

    def _constants_and_supported_nodes(
        self, graph: Graph, stored: Mapping[str, torch.Tensor]
    ) -> tuple[Constants, set[Node]]:
        """Returns the constants that plans compute ahead of time, and the supported nodes.

        A constant of a dtype that plans do not support is computed ahead of time only if plans have all its
        users. Otherwise it is an ordinary result of a kernel, also for nodes that plans support.
        """
        outside: set[Node] = set()
        while True:
            constants = constants_of_plan(stored, graph, outside)
            supported = self._supported_nodes(graph, constants)
            reject_needless_conversions(supported, list(graph.nodes), constants)
            found = _results_of_other_dtypes(graph, supported)
            for node in found:
                self.report.report_reject(node, "plans do not support the dtype of its result")
            if found <= outside:
                return constants, supported - found
            outside |= found

    def _supported_nodes(self, graph: Graph, constants: Constants) -> set[Node]:
        """Returns the nodes that the backend supports one by one; reports the reasons for the other nodes."""
        log = WhyNoPartition(logger)
        supported: set[Node] = set()
        inside = {node for found in int8_functions(graph, constants).values() for node in found.nodes}
        for node in graph.nodes:
            if node.op != "call_function":
                continue
            if node.target is operator.getitem and not constants.is_constant(node):
                continue
            reason = None if node in inside else unsupported_reason(node, constants)
            if reason is None:
                supported.add(node)
            else:
                self.report.report_reject(node, reason)
                log(node, reason)
        return supported

    def _parts(
        self, graph: Graph, supported: set[Node], constants: Constants, stored: Constants
    ) -> list[list[Node]]:
        """Forms partitions; a weight that is computed from constants is in the partition of its users.

        A dynamic quantization is in the partition of the products that read it.
        """
        while True:
            groups = _groups(graph, supported, constants, stored)
            parts = form_parts(graph, supported.__contains__, merge_overlapping(groups))
            part_of = {node: index for index, part in enumerate(parts) for node in part}
            separated = {
                node
                for group in groups
                if len({part_of[node] for node in group}) > 1
                for node in group
                if not constants.is_constant(node)
            }
            if not separated:
                return parts
            for node in separated:
                self.report.report_reject(node, "its weight is computed in another partition")
            supported = supported - separated


def _results_of_other_dtypes(graph: Graph, supported: set[Node]) -> set[Node]:
    """Returns the supported nodes whose result plans do not support, and which a node outside plans uses.

    Nodes are visited from the last to the first, because each such node is outside plans for its inputs. A
    getitem node stands for the node whose result it selects, which is in the same partition.
    """
    inside = set(supported)
    found: set[Node] = set()
    for node in reversed(graph.nodes):
        dtype = meta.get_dtype(node)
        if node in inside and dtype is not None and dtype not in DTYPES and not inside.issuperset(node.users):
            source = node.args[0] if node.target is operator.getitem else node
            assert isinstance(source, Node)
            found.add(source)
            inside -= {node, source}
    return found


def _groups(graph: Graph, supported: set[Node], constants: Constants, stored: Constants) -> list[list[Node]]:
    """Returns nodes that must be in one partition: an operator, its weight, and its dynamic quantization.

    Args:
        graph: the graph.
        supported: the supported nodes.
        constants: the constants of the graph.
        stored: the constants that are not computed.
    """
    return [
        [*_sources(node, supported), *quantization, user]
        for node in graph.nodes
        if node in supported and constants.is_constant(node)
        for user in node.users
        if user in supported and not constants.is_constant(user)
        for quantization in (_quantization(user, supported),)
        if quantization or unsupported_reason(user, stored) is not None
    ]


def _quantization(product: Node, supported: set[Node]) -> list[Node]:
    """Returns the nodes from the choice of parameters to the input of a product; empty without such nodes."""
    operands = linear_operands(product)
    source: object = operands.input if operands is not None else None
    views: list[Node] = []
    while isinstance(source, Node) and is_op(source, *MOVES[:2]):
        views.append(source)
        source = source.args[0]
    found = dynamic_quantization(source)
    if found is None:
        return []
    nodes = [*found.nodes, *views]
    return nodes if supported.issuperset(set(nodes).difference(found.items)) else []


def _sources(constant: Node, supported: set[Node]) -> list[Node]:
    """Returns the constant, and the supported nodes from which it is computed."""
    found = [constant]
    for node in found:
        found += [source for source in node.all_input_nodes if source in supported and source not in found]
    return found


def _has_known_sizes(part: list[Node]) -> bool:
    """Returns whether a plan can compute every size in the partition from the sizes of its inputs."""
    inside = set(part)
    outside = {source for node in part for source in node.all_input_nodes} - inside
    sizes = [size for node in outside for shape in shapes_of(node) for size in shape]
    return expresses(sizes, (shape for node in part for shape in shapes_of(node)))


def _computes(node: Node) -> bool:
    """Returns whether a node computes more than views and masks; a partition needs at least one such node."""
    op = operation(node)
    if is_in(op, Category.VIEW, Category.MASK) or op in QUANTIZED:
        return False
    return dtype_of(node) not in (torch.int64, torch.int32)


def _is_large_enough(part: list[Node], constants: Constants) -> bool:
    """Returns whether a partition computes more than views and one elementwise operator."""
    computing = [n for n in part if not constants.is_constant(n) and _computes(n)]
    return len(computing) > 1 or any(not is_in(operation(n), Category.ELEMENTWISE) for n in computing)
