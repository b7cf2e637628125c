"""The quantizer for XnnpackBackend."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import ClassVar

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import OperatorConfig, SharedQuantizationSpec

from rushlight.backends.xnnpack.annotators import (
    BUILTIN,
    OP_TO_ANNOTATOR,
    AnnotatorType,
    Filter,
    QuantPattern,
    is_replaced,
)
from rushlight.ir import meta
from rushlight.quantize import QuantizationConfig, QuantizationError, specs
from rushlight.quantize import patterns as p
from rushlight.quantize.pattern_quantizer import (
    PatternQuantizer,
    is_annotated,
    is_quantizable,
    output_spec,
    weight_specification,
    write_annotation,
    write_match_annotation,
)
from rushlight.quantize.patterns import Kind, Match, Pattern, find_match
from rushlight.quantize.specs import get_symmetric_quantization_config

__all__ = ["XNNPACKQuantizer", "get_symmetric_quantization_config"]


_SHARING = frozenset(
    {
        *p.MEANS,
        p.aten.relu.default,
        p.aten.hardtanh.default,
        p.aten.hardtanh_.default,
        p.aten.max_pool2d.default,
        p.aten.permute.default,
        p.aten.permute_copy.default,
        p.aten.transpose.int,
        p.aten.squeeze.dim,
        p.aten.squeeze_copy.dim,
        p.aten.view.default,
        p.aten.view_copy.default,
        p.aten.reshape.default,
        p.aten.slice.Tensor,
        p.aten.slice_copy.Tensor,
        p.aten.flatten.using_ints,
        p.aten.dropout.default,
        p.aten.dropout_.default,
    }
)
"""Operators whose results have the same quantization parameters as their inputs."""

_CONV = (p.CONV - {p.aten.convolution.default}) | {p.aten.conv3d.default, p.aten.conv3d.padding}


def _conv(node: Node, dynamic: bool) -> bool:
    """Returns whether a convolution is quantized.

    With static ranges, all convolutions are quantized. With dynamic ranges, only 2-d convolutions that are
    not depthwise and are not followed by a ReLU are quantized.
    """
    if not dynamic:
        return True
    weight = meta.get_tensor(node.args[1])  # type: ignore[arg-type]
    if weight is None or weight.dim() != 4 or _is_followed_by_relu(node):
        return False
    return node.target in p.CONV_TRANSPOSE or weight.shape[1] != 1


def _conv_transpose(node: Node, dynamic: bool) -> bool:
    return p.groups_of(node) == 1 and _conv(node, dynamic)


def _is_followed_by_relu(node: Node) -> bool:
    users = list(node.users)
    return len(users) == 1 and users[0].target in p.RELU


_KINDS = (Kind.WEIGHTED, Kind.SHARED, Kind.BINARY, Kind.CONCAT)


def _match_name(node: Node, pattern: Pattern, config: QuantizationConfig) -> str:
    """Returns the name of a match: that of the pattern, with `_bn` and `_relu` for the operators in it.

    With dynamic ranges, no other operators are part of a match.
    """
    match = find_match(node, pattern, config.is_qat)
    targets = [] if specs.is_dynamic(config) else [node.target for node in match.nodes[1:]]
    has_norm = any(target in p.BATCH_NORM for target in targets)
    has_relu = any(target in p.RELU for target in targets)
    return pattern.name + "_bn" * has_norm + "_relu" * has_relu


def _names(pattern: Pattern) -> list[str]:
    """Returns the names of all matches of a pattern."""
    norms = ("_bn", "") if pattern.name.startswith("conv") else ("",)
    activations = ("_relu", "") if pattern.activations else ("",)
    return [pattern.name + norm + activation for norm in norms for activation in activations]


class XNNPACKQuantizer(PatternQuantizer):
    """Quantizes models to int8 for `XnnpackBackend`.

    The ranges of activations come from calibration or training, or are computed at run time.

    It quantizes the same operators as ExecuTorch's quantizer of this name: linear layers and convolutions
    (with batch norm in training, and ReLU), transposed convolutions, additions and multiplications (with
    ReLU), concatenations, adaptive average pooling, and operators after these that only move values.
    """

    name: ClassVar[str] = "XNNPACKQuantizer"
    patterns: ClassVar[tuple[Pattern, ...]] = (
        Pattern("linear", p.LINEAR, Kind.WEIGHTED, p.RELU, dynamic=True, weight_only=True),
        Pattern("conv", _CONV, Kind.WEIGHTED, p.RELU, dynamic=True, weight_only=True, accept=_conv),
        Pattern(
            "conv_transpose",
            p.CONV_TRANSPOSE,
            Kind.WEIGHTED,
            p.RELU,
            dynamic=True,
            weight_axis=1,
            accept=_conv_transpose,
        ),
        Pattern("adaptive_avg_pool2d", frozenset({p.aten.adaptive_avg_pool2d.default}), Kind.SHARED),
        Pattern("add", p.ADD, Kind.BINARY, p.RELU),
        Pattern("mul", p.MUL, Kind.BINARY, p.RELU),
        Pattern("cat", p.CAT, Kind.CONCAT),
    )

    # The patterns that are annotated. Users may replace the function that annotates a pattern of this name.
    SUPPORTED_PATTERNS: ClassVar[list[QuantPattern]] = [
        QuantPattern("conv_bn_relu", False, True, {*_CONV}),
        QuantPattern("conv_bn", False, True, {*_CONV}),
        QuantPattern("conv_transpose_bn_relu", False, True, {*p.CONV_TRANSPOSE}),
        QuantPattern("conv_transpose_bn", False, True, {*p.CONV_TRANSPOSE}),
        QuantPattern("linear_relu", False, False, {*p.LINEAR}),
        QuantPattern("linear", True, False, {*p.LINEAR}),
        QuantPattern("conv", True, False, {*_CONV}),
        QuantPattern("conv_transpose", True, False, {*p.CONV_TRANSPOSE}),
        QuantPattern("conv_relu", False, False, {*_CONV}),
        QuantPattern("conv_transpose_relu", False, False, {*p.CONV_TRANSPOSE}),
        QuantPattern("adaptive_avg_pool2d", False, False, {p.aten.adaptive_avg_pool2d.default}),
        QuantPattern("add_relu", False, False, {*p.ADD}),
        QuantPattern("add", False, False, {*p.ADD}),
        QuantPattern("mul_relu", False, False, {*p.MUL}),
        QuantPattern("mul", False, False, {*p.MUL}),
        QuantPattern("cat", False, False, {*p.CAT}),
    ]

    def annotate(self, model: GraphModule) -> GraphModule:
        """Writes the quantization annotation of each operator to `node.meta["quantization_annotation"]`.

        Operators with weights are annotated first. Pooling, binary operators and concatenations follow, which
        may share the quantization parameters of their inputs. Operators of patterns that only users have
        registered are next. Operators that only move values are last.
        """
        for kind in _KINDS:
            names = {name for pattern in self.patterns if pattern.kind is kind for name in _names(pattern)}
            self._call_annotators(model, [q for q in self.SUPPORTED_PATTERNS if q.name in names])
            self._annotate_kind(model, kind)
        self._call_annotators(model, [q for q in self.SUPPORTED_PATTERNS if q.name not in BUILTIN])
        propagate_annotation(model)
        self._warn_of_idle(model)
        return model

    def _annotate_kind(self, model: GraphModule, kind: Kind) -> None:
        names = {q.name for q in self.SUPPORTED_PATTERNS if not is_replaced(q.name)}
        for node in list(model.graph.nodes):
            pattern = self._by_target.get(node.target) if node.op == "call_function" else None
            if pattern is None or pattern.kind is not kind or is_annotated(node):
                continue
            config = self.config_of(node)
            if config is not None and _match_name(node, pattern, config) in names:
                self._annotate(node, pattern, config, model)

    def _call_annotators(self, model: GraphModule, quant_patterns: Iterable[QuantPattern]) -> None:
        """Calls the functions that users registered, for each configuration that applies to the pattern."""
        configs = {id(config): config for config in self._configs()}.values()
        for pattern in quant_patterns:
            for config in configs if is_replaced(pattern.name) else ():
                dynamic = specs.is_dynamic(config)
                if not dynamic or pattern.is_dynamic or (config.is_qat and pattern.is_qat):
                    OP_TO_ANNOTATOR[pattern.name](model, config, self._has_config(config))

    def _has_config(self, config: QuantizationConfig) -> Filter:
        return lambda node: self.config_of(node) is config

    def _overloads(self, operator_type: object) -> list[OpOverload]:
        registered = (
            target
            for pattern in self.SUPPORTED_PATTERNS
            if is_replaced(pattern.name)
            for target in pattern.op_overloads
            if isinstance(target, OpOverload) and operator_type in (target, target.overloadpacket)
        )
        return [*super()._overloads(operator_type), *registered]

    def annotate_pattern(
        self, model: GraphModule, pattern: Pattern, name: str, config: QuantizationConfig
    ) -> list[list[Node]]:
        """Annotates the operators of one pattern.

        Args:
            model: the graph, whose annotations are changed.
            pattern: the pattern.
            name: the name of a match, such as `linear_relu`. Other matches of the pattern are left alone.
            config: the configuration.

        Returns:
            The nodes of each match that was annotated.
        """
        found = []
        for node in list(model.graph.nodes):
            if node.target not in pattern.targets or is_annotated(node) or self.config_of(node) is None:
                continue
            if _match_name(node, pattern, config) == name:
                self._annotate(node, pattern, config, model)
                match = find_match(node, pattern, config.is_qat)
                found += [list(match.nodes)] if is_annotated(match.output) else []
        return found

    def _weighted(self, match: Match, config: QuantizationConfig) -> None:
        node = match.anchor
        act, *parameters = [source for source in node.args[:3] if isinstance(source, Node)]
        if len(parameters) == 0 or config.weight is None or not is_quantizable(act):
            return
        if any(is_annotated(parameter) for parameter in parameters):
            # Only a linear layer may share its weight with another layer. Its activation is then not fused.
            if match.pattern.name != "linear":
                return
            match = Match(match.pattern, node, node, ())
        inputs: dict[Node, object] = {act: config.input_activation}
        weight_spec = weight_specification(parameters[0], config.weight, match.pattern.weight_axis)
        if specs.is_weight_only(config) and not specs.is_grouped(weight_spec):
            inputs = {}
        inputs |= dict(zip(parameters, (weight_spec, config.bias), strict=False))
        if config.output_activation is None:
            write_annotation(node, inputs, None)
        else:
            write_match_annotation(match, inputs, config.output_activation)
        for parameter in parameters:
            if meta.get_annotation(parameter) is None:
                write_annotation(parameter, {}, None)

    def _follow(self, match: Match, config: QuantizationConfig) -> None:
        node = match.anchor
        first = node.args[0]
        given_sources = list(first) if isinstance(first, (list, tuple)) else [first]
        sources = [source for source in given_sources if isinstance(source, Node) and is_quantizable(source)]
        if not sources or len(sources) != len(given_sources):
            return
        if match.pattern.kind is Kind.CONCAT:
            owner = next((source for source in sources if _has_parameters(source)), sources[0])
            given: object = config.input_activation
        else:
            owner = sources[0]
            is_quantized = output_spec(owner) is not None
            given = SharedQuantizationSpec(owner) if is_quantized else config.input_activation
        shared = SharedQuantizationSpec((owner, node))
        write_annotation(node, dict.fromkeys(sources, shared) | {owner: given}, shared)

    @classmethod
    def get_supported_quantization_configs(cls) -> list[QuantizationConfig]:
        """Returns the distinct configurations of `get_symmetric_quantization_config`."""
        settings = itertools.product((False, True), repeat=3)
        return [
            get_symmetric_quantization_config(is_per_channel=channel, is_qat=qat, is_dynamic=dynamic)
            for dynamic, qat, channel in settings
        ]

    @classmethod
    def get_supported_operator_for_quantization_config(
        cls, quantization_config: QuantizationConfig | None
    ) -> list[list[OpOverload]]:
        """Returns the operators that a configuration quantizes, each with the operators fused into it.

        Args:
            quantization_config: the configuration; None means all configurations.
        """
        found = []
        for pattern in cls.patterns:
            if quantization_config is None:
                is_quantized = True
            elif specs.is_dynamic(quantization_config):
                is_quantized = pattern.dynamic
            elif specs.is_weight_only(quantization_config):
                is_quantized = pattern.weight_only
            else:
                is_quantized = pattern.static
            for target in sorted(pattern.targets, key=str) if is_quantized else ():
                found.append([target])
                found += [[target, activation] for activation in sorted(pattern.activations, key=str)]
        return found

    @classmethod
    def get_supported_operators(cls) -> list[OperatorConfig]:
        """Returns each configuration with the operators that it quantizes."""
        return [
            OperatorConfig(config, cls.get_supported_operator_for_quantization_config(config))
            for config in cls.get_supported_quantization_configs()
        ]

    def check(self, quantization_config: QuantizationConfig) -> None:
        """Checks that a configuration is supported.

        XNNPACK supports only 8-bit activations. Operators with int16 activations are accepted too, but they
        are not delegated; kernels run them.

        Raises:
            QuantizationError: the dtype of activations is not int8, uint8 or int16.
        """
        spec = quantization_config.input_activation
        if spec is not None and spec.dtype not in (torch.int8, torch.uint8, torch.int16):
            raise QuantizationError(
                f"XNNPACKQuantizer cannot quantize activations to {str(spec.dtype).removeprefix('torch.')}, "
                "only to int8, uint8 and int16"
            )


def propagate_annotation(model: GraphModule) -> None:
    """Annotates operators that only move values or average them, and follow an annotated operator.

    Their results get the quantization parameters of their inputs.

    Args:
        model: the graph, whose annotations are changed.
    """
    for node in model.graph.nodes:
        source = node.args[0] if node.op == "call_function" and node.args else None
        if node.target in _SHARING and not is_annotated(node) and output_spec(source) is not None:
            shared = SharedQuantizationSpec(source)
            write_annotation(node, {source: shared}, shared)


def _has_parameters(node: Node) -> bool:
    """Returns whether a node's value has its own quantization parameters, or those of the value it moves."""
    while output_spec(node) is None:
        source = node.args[0] if node.op == "call_function" and node.target in _SHARING else None
        if not isinstance(source, Node):
            return False
        node = source
    return True


def _builtin(pattern: Pattern, name: str) -> AnnotatorType:
    """Returns the function by which `XNNPACKQuantizer` annotates a pattern."""

    def annotate(
        model: GraphModule, quantization_config: QuantizationConfig | None, filter_fn: Filter | None = None
    ) -> list[list[Node]] | None:
        if quantization_config is None:
            return None
        quantizer = XNNPACKQuantizer().set_global(quantization_config)
        if filter_fn is not None:
            quantizer.set_filter_function(filter_fn)
        return quantizer.annotate_pattern(model, pattern, name, quantization_config)

    return annotate


BUILTIN.update({name: _builtin(q, name) for q in XNNPACKQuantizer.patterns for name in _names(q)})
OP_TO_ANNOTATOR.update(BUILTIN)
