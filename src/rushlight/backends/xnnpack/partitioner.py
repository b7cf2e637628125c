"""The partitioners of XnnpackBackend."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import TensorArgument
from torch.fx import Graph, GraphModule, Node

from rushlight.backends.xnnpack.backend import XnnpackBackend
from rushlight.backends.xnnpack.nodes import (
    WEIGHT_POSITIONS,
    ConfigPrecisionType,
    SupportContext,
    operation,
    tensor_of,
    transposed_constant,
)
from rushlight.backends.xnnpack.quantized import (
    WEIGHTED,
    QuantizedOp,
    QuantizedOps,
    check_scales,
    dequantize_params,
    following_activation,
    is_dynamic,
    is_dynamic_part,
    quantize_params,
    requantizes,
    supported_weight,
    viewed_source,
    weight_nodes,
)
from rushlight.backends.xnnpack.support import PRESERVED_OPS, unsupported_reason, unsupported_shape
from rushlight.delegate.constants import tag_constant_data
from rushlight.delegate.grouping import form_parts, merge_overlapping
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.delegate.report import WhyNoPartition, WhyNoPartitionReporter
from rushlight.ir import meta
from rushlight.ir.control_flow import control_flow_submodules
from rushlight.ir.edge_ops import argument
from rushlight.ir.fake import Evaluator
from rushlight.ir.program import copy_program
from rushlight.ir.verifier import accepting, stands_for_executorch
from rushlight.passes.base import eliminate_dead_code, graph_modules
from rushlight.passes.viewed_linear import restore_linear, viewed_linear

aten = torch.ops.aten

logger = logging.getLogger(__name__)
_executorch_logger = logging.getLogger("executorch.backends.xnnpack.partition.xnnpack_partitioner")

_NOT_SELECTED = "configs does not include the operator"
_OPTIONS = frozenset({"force_non_static_weights_for_f32_linear", "enable_bf16"})
_UNUSED_OPTIONS = {
    "force_fp32_dynamic_linear": ", which has no effect in ExecuTorch 1.x: leave it out, or pass weights as "
    "arguments with force_non_static_weights_for_f32_linear"
}


class XnnpackPartitioner(Partitioner):
    """Delegates each node that XNNPACK supports, in as few partitions as possible.

    After `partition`, the attribute `report` contains the reason for every node that is not delegated.

    Args:
        configs: the operators to delegate, as ATen overloads, names such as "add.Tensor", or classes of
            `rushlight.backends.xnnpack.configs`. None or an empty list means all operators.
        config_precisions: the precisions to delegate; None means all. Matrix products and convolutions are
            delegated in any precision, with one exception: if FP32 is the only precision, quantized linear
            layers run in float, with weights that kernels dequantize before the delegate runs, and other
            quantized operators are not delegated.
        per_op_mode: whether to make a separate partition for every node.
        verbose: whether to log the reason for every node that is not delegated.
        kwargs: `force_non_static_weights_for_f32_linear` (bool) passes the weights and biases of float matrix
            products as arguments of the delegate; `enable_bf16` (bool) delegates bfloat16 matrix products.

    Raises:
        TypeError: there is no such option. After `install_as_executorch()`, this is a warning.
    """

    changes_graph = True  # partition() restores decomposed linear layers

    def __init__(
        self,
        configs: Sequence[Any] | None = None,
        config_precisions: ConfigPrecisionType | Sequence[ConfigPrecisionType] | None = None,
        per_op_mode: bool = False,
        verbose: bool = False,
        **kwargs: object,
    ) -> None:
        super().__init__()
        unknown = kwargs.keys() - _OPTIONS
        if unknown:
            name = sorted(unknown)[0]
            hint = _UNUSED_OPTIONS.get(name, f"; its options are {', '.join(sorted(_OPTIONS))}")
            message = f"XnnpackPartitioner has no option {name!r}{hint}"
            if not stands_for_executorch():
                raise TypeError(message)
            warnings.warn(message, stacklevel=2)
        if verbose:
            logger.setLevel(logging.DEBUG)
        self.delegation_spec = DelegationSpec(XnnpackBackend.__name__, [])
        self.per_op_mode = per_op_mode
        self._names = {_name_of(config) for config in configs} if configs else None
        precisions = (
            [config_precisions] if isinstance(config_precisions, ConfigPrecisionType) else config_precisions
        )
        self.precisions = frozenset(precisions or ConfigPrecisionType)
        self._bf16 = bool(kwargs.get("enable_bf16", False))
        self._weights_as_arguments = bool(kwargs.get("force_non_static_weights_for_f32_linear", False))
        self.report = WhyNoPartitionReporter()

    def warn_of_decomposed_program(self) -> None:
        """Logs that fewer operators are delegated, as ExecuTorch does."""
        _executorch_logger.warning(
            "DEPRECATION WARNING: to_edge() + to_backend() decomposes operators before XnnpackPartitioner "
            "sees them, so that it delegates fewer of them than with to_edge_transform_and_lower()"
        )

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Returns the operators that XNNPACK supports without decomposition.

        Args:
            ep: the ATen program of a method, before decomposition.

        Returns:
            The operators, and a function that returns whether XNNPACK supports a node that calls one of them.
        """
        context = self._context(ep)
        quantized: dict[Graph, QuantizedOps] = {}

        def accepts(node: Node) -> bool:
            if node.graph not in quantized:
                quantized[node.graph] = self._quantized_ops(node.graph, context)
            return self._unsupported_reason(node, context, quantized[node.graph]) is None

        return list(PRESERVED_OPS), accepts

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes that XNNPACK supports.

        Linear layers that were decomposed into a product with views around it are restored, if XNNPACK
        supports the whole layer. They are restored in a copy of the program, which is then in the result. The
        attribute `report` then contains the reason for every node without a tag.

        Args:
            exported_program: the edge program of a method.

        Returns:
            The tagged program, and the backend of each tag.
        """
        exported_program = self._with_restored_linears(exported_program)
        context = self._context(exported_program)
        self.report = WhyNoPartitionReporter()
        tags: dict[str, DelegationSpec] = {}
        self._tag(exported_program.graph_module, context, tags)
        tag_constant_data(exported_program)
        if self._weights_as_arguments:
            self._untag_weights(exported_program.graph, context)
        return PartitionResult(exported_program, tags)

    def _context(self, program: ExportedProgram) -> SupportContext:
        return SupportContext(program, enable_bf16=self._bf16, dynamic_weights=self._weights_as_arguments)

    def _with_restored_linears(self, program: ExportedProgram) -> ExportedProgram:
        """Returns the program, or a copy with restored linear layers if XNNPACK supports them."""
        modules = graph_modules(program.graph_module)
        nodes = [node for module in modules for node in module.graph.nodes]
        names = {node.name for node in nodes if viewed_linear(node) is not None}
        if not names:
            return program
        whole, layers = _restored(program, names)
        context = self._context(whole)
        graphs = dict.fromkeys(layer.graph for layer in layers.values())
        quantized = {graph: self._quantized_ops(graph, context) for graph in graphs}
        supported = {
            name
            for name, layer in layers.items()
            if self._unsupported_reason(layer, context, quantized[layer.graph]) is None
            and (layer in quantized[layer.graph].accepted or context.is_constant(layer.args[1]))
        }
        if not supported:
            return program
        return whole if len(supported) == len(layers) else _restored(program, supported)[0]

    def _tag(self, module: GraphModule, context: SupportContext, tags: dict[str, DelegationSpec]) -> None:
        supported: set[Node] = set()
        groups: list[list[Node]] = []
        log = WhyNoPartition(logger)
        quantized = self._quantized_ops(module.graph, context)
        groups += [list(op.nodes) for op in quantized.accepted.values()]
        for node in module.graph.nodes:
            if node.op != "call_function" or (_is_item(node) and not is_dynamic_part(node)):
                continue
            reason = self._unsupported_reason(node, context, quantized)
            if reason is not None:
                self.report.report_reject(node, reason)
                log(node, reason)
                continue
            supported.add(node)
            position = WEIGHT_POSITIONS.get(operation(node))
            weight = argument(node, position) if position is not None else None
            if weight is not None and transposed_constant(context, weight) is not None:
                groups.append([weight, node])
            groups += [[source, node] for source in node.all_input_nodes if context.is_cast(source)]
        if self.per_op_mode:
            parts = [list(op.nodes) for op in quantized.accepted.values()]
            parts += [
                [node, *(user for user in node.users if _is_item(user))]
                for node in supported - quantized.nodes
                if not _is_conversion(node)
            ]
        else:
            parts = form_parts(module.graph, supported.__contains__, merge_overlapping(groups))
        for part in parts:
            if all(context.is_constant(node) or _is_transposed_in(part, node, context) for node in part):
                continue  # the delegate would compute nothing
            for node in part:
                check_scales(node, context)
            tag = f"xnnpack_{len(tags)}"
            tags[tag] = self.delegation_spec
            for node in part:
                meta.set_delegation_tag(node, tag)
        for _, child, node in control_flow_submodules(module):
            if meta.get_delegation_tag(node) is None:
                self._tag(child, context, tags)

    def _quantized_ops(self, graph: Graph, context: SupportContext) -> QuantizedOps:
        return QuantizedOps(
            graph, context, lambda op: self._unsupported_quantized_reason(op, context) is None
        )

    def _is_selected(self, node: Node) -> bool:
        """Returns whether the option `configs` contains the operator of a node."""
        return self._names is None or _name_of(operation(node)) in self._names

    def _unsupported_quantized_reason(self, op: QuantizedOp, context: SupportContext) -> str | None:
        precision = ConfigPrecisionType.STATIC_QUANT if op.result else ConfigPrecisionType.DYNAMIC_QUANT
        is_forced = operation(op.node) in WEIGHTED and self.precisions != {ConfigPrecisionType.FP32}
        if precision not in self.precisions and not is_forced:
            kind = "statically" if op.result else "dynamically"
            return f"config_precisions does not include {kind} quantized nodes"
        if not self._is_selected(op.node):
            return _NOT_SELECTED
        return unsupported_reason(op.node, context)

    def _unsupported_reason(self, node: Node, context: SupportContext, quantized: QuantizedOps) -> str | None:
        if node in quantized.accepted:
            return None
        if node in quantized.found and not self._reads_dequantized_weight(node):
            reason = self._unsupported_quantized_reason(quantized.found[node], context)
            return reason or "another operator reads its quantized weight or the dynamic scales of its input"
        if node in quantized.nodes:
            return None
        if quantize_params(node) is not None or (
            dequantize_params(node) is not None and not context.is_constant(node.args[0])
        ):
            return self._unsupported_conversion(node)
        matrices = weight_nodes(node)
        if matrices and context.is_weight(matrices[-1]) and not context.is_constant(matrices[-1]):
            return "no operator in the delegate reads the quantized weight"
        if is_dynamic_part(viewed_source(node)):
            return "no operator in the delegate reads the quantized result"
        if ConfigPrecisionType.FP32 not in self.precisions and operation(node) not in WEIGHTED:
            product = _fused_product(node)
            if (
                product is None
                or self._unsupported_reason(product, context, quantized) is not None
                or (self.precisions == {ConfigPrecisionType.DYNAMIC_QUANT} and product in quantized.accepted)
            ):
                return "config_precisions does not include floating-point nodes"
        if not self._is_selected(node):
            return _NOT_SELECTED
        if operation(node) is aten.slice_copy.Tensor and requantizes(node, context):
            return "its input and its result are quantized with different parameters"
        return self._unsupported_weight(node, context) or unsupported_reason(node, context)

    def _unsupported_conversion(self, node: Node) -> str | None:
        """Returns the reason against a quantization or dequantization with constant parameters, or None."""
        if ConfigPrecisionType.STATIC_QUANT not in self.precisions:
            return "config_precisions does not include statically quantized nodes"
        tensor, source = tensor_of(node), tensor_of(node.args[0])
        if source is not None and source.dtype is torch.bfloat16:
            return "bfloat16 tensors cannot be quantized"
        return None if tensor is None else unsupported_shape(tensor)

    def _unsupported_weight(self, node: Node, context: SupportContext) -> str | None:
        """Returns the reason against a float operator if its weight is quantized, or None."""
        if operation(node) not in WEIGHTED or self._reads_dequantized_weight(node):
            return None
        weights = weight_nodes(argument(node, WEIGHTED[operation(node)][1]))
        stored = supported_weight(weights[-1], context) if weights else None
        if stored is None:
            return None
        if stored.axis is None and is_dynamic(node):
            return "its input is quantized dynamically, so its weight needs a scale for each channel"
        return "its weight is quantized, but its input or its result is not"

    def _reads_dequantized_weight(self, node: Node) -> bool:
        """Returns whether a quantized linear layer runs in float, because FP32 is the only precision.

        Kernels then dequantize its weight before the delegate runs.
        """
        products = WEIGHT_POSITIONS if self._weights_as_arguments else (aten.linear.default,)
        return self.precisions == {ConfigPrecisionType.FP32} and operation(node) in products

    @staticmethod
    def _untag_weights(graph: Graph, context: SupportContext) -> None:
        """Removes the tags of weights and biases of float products; they become arguments of the delegate."""
        for node in graph.nodes:
            if node.op != "call_function" or meta.get_delegation_tag(node) is None:
                continue
            op = operation(node)
            if op not in WEIGHT_POSITIONS:
                continue
            weights = weight_nodes(argument(node, WEIGHT_POSITIONS[op]))
            at = WEIGHTED[op][2]
            bias = None if at is None else argument(node, at)
            is_quantized = meta.get_delegation_tag(weights[-1]) is not None if weights else False
            if is_quantized and not context.is_constant(weights[-1]):
                continue
            for constant in (*weights[-1:], bias):
                if isinstance(constant, Node) and context.is_constant(constant):
                    meta.clear_delegation_tag(constant)


class XnnpackFloatingPointPartitioner(XnnpackPartitioner):
    """Delegates only float nodes."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.FP32)


class XnnpackQuantizedPartitioner(XnnpackPartitioner):
    """Delegates only statically quantized nodes."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.STATIC_QUANT)


class XnnpackDynamicallyQuantizedPartitioner(XnnpackPartitioner):
    """Delegates only dynamically quantized nodes.

    Args:
        kwargs: the arguments of `XnnpackPartitioner` by name, without `config_precisions`.

    Raises:
        ValueError: `config_precisions` is given.
        TypeError: there is no such option.
    """

    def __init__(self, **kwargs: Any) -> None:
        if "config_precisions" in kwargs:
            raise ValueError(
                "XnnpackDynamicallyQuantizedPartitioner has no option config_precisions: its only precision "
                "is DYNAMIC_QUANT"
            )
        super().__init__(config_precisions=ConfigPrecisionType.DYNAMIC_QUANT, **kwargs)


def _restored(program: ExportedProgram, names: Collection[str]) -> tuple[ExportedProgram, dict[str, Node]]:
    """Returns a copy of a program with restored linear layers, and these layers by the names of the products.

    Args:
        program: the program.
        names: the names of the products to restore as linear layers.
    """
    copied = copy_program(program)
    copied._verifiers = [accepting(program.verifier, [aten.linear.default])]
    layers = {}
    names_of_outputs: dict[str, str] = {}
    for module in graph_modules(copied.graph_module):
        evaluator = Evaluator.of(module)
        for node in list(module.graph.nodes):
            found = viewed_linear(node) if node.name in names else None
            if found is not None:
                layers[node.name] = layer = restore_linear(evaluator, found)
                names_of_outputs[found.result.name] = layer.name
        eliminate_dead_code(module.graph)
        module.recompile()
    copied.graph_signature.output_specs[:] = [
        replace(spec, arg=TensorArgument(names_of_outputs[spec.arg.name]))
        if spec.arg.name in names_of_outputs
        else spec
        for spec in copied.graph_signature.output_specs
    ]
    return copied, layers


def _name_of(config: object) -> str:
    """Returns the name of an operator without its library."""
    return ".".join(str(getattr(config, "target_name", config)).split(".")[-2:])


def _fused_product(node: Node) -> Node | None:
    """Returns the matrix product or convolution into which an activation is fused; None if there is none."""
    source = node.args[0] if node.args else None
    if isinstance(source, Node) and operation(source) in WEIGHTED and following_activation(source) is node:
        return source
    return None


def _is_transposed_in(part: list[Node], node: Node, context: SupportContext) -> bool:
    """Returns whether a node transposes a constant, or a weight that is dequantized in the same partition."""
    matrix = transposed_constant(context, node)
    return matrix is not None and (context.is_constant(matrix) or matrix in part)


def _is_conversion(node: Node) -> bool:
    return quantize_params(node) is not None or dequantize_params(node) is not None


def _is_item(node: Node) -> bool:
    return getattr(node.target, "__name__", "") == "getitem"
