"""The base class of the quantizers of the backends.

A quantizer has patterns of operators. Its configurations are set by module name, module type or operator.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationConfig,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)
from typing_extensions import Self

from rushlight.ir import meta
from rushlight.ir.quantization import FLOATS
from rushlight.quantize import specs
from rushlight.quantize.errors import QuantizationError, QuantizationWarning
from rushlight.quantize.layers import layer_name, listed
from rushlight.quantize.patterns import (
    RECURRENT,
    Kind,
    Match,
    Pattern,
    find_match,
    groups_of,
    recurrent_matrices,
)

_HISTOGRAM_LIMIT = 3.4e15

Filter = Callable[[Node], bool]


class PatternQuantizer(Quantizer):  # type: ignore[misc]
    """Annotates the operators of `patterns`.

    The configuration of an operator is the first of these that exists: the configuration of the innermost
    module name, of a module type, of the operator, the global configuration. The configuration None keeps the
    operator in float.

    Attributes:
        name: the name of the quantizer, for messages.
        patterns: the operators that the backend can run quantized.
    """

    name: ClassVar[str] = "this quantizer"
    patterns: ClassVar[tuple[Pattern, ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        self.global_config: QuantizationConfig | None = None
        self.operator_type_config: dict[object, QuantizationConfig | None] = {}
        self.module_type_config: dict[str | type, QuantizationConfig | None] = {}
        self.module_name_config: dict[str, QuantizationConfig | None] = {}
        self.filter_fn: Filter | None = None
        self._by_target = {target: pattern for pattern in self.patterns for target in pattern.targets}

    def check(self, quantization_config: QuantizationConfig) -> None:
        """Checks that the backend supports a configuration.

        Raises:
            QuantizationError: the backend can run no operator with this configuration.
        """

    def set_global(self, quantization_config: QuantizationConfig | None) -> Self:
        """Sets the configuration of all operators without a more specific configuration.

        Args:
            quantization_config: the configuration; None keeps these operators in float.

        Raises:
            QuantizationError: the backend does not support the configuration.
        """
        self._check(quantization_config)
        self.global_config = quantization_config
        return self

    def set_operator_type(
        self, operator_type: object, quantization_config: QuantizationConfig | None
    ) -> Self:
        """Sets the configuration of an operator.

        Args:
            operator_type: an overload such as `torch.ops.aten.linear.default`, or an overload packet such as
                `torch.ops.aten.linear`.
            quantization_config: the configuration; None keeps the operator in float.

        Raises:
            QuantizationError: the backend cannot run the quantized operator, or `operator_type` is no
                operator.
        """
        self._check(quantization_config)
        if not isinstance(operator_type, (OpOverload, OpOverloadPacket)):
            raise QuantizationError(
                f"{self.name}: {operator_type!r} is not an operator such as torch.ops.aten.linear; "
                "set_module_type selects modules by their class"
            )
        if quantization_config is not None and not self._overloads(operator_type):
            raise QuantizationError(
                f"{self.name} cannot quantize {operator_type}: its backend has no quantized form of it. "
                f"The quantizer supports {', '.join(sorted(str(target) for target in self._by_target))}"
            )
        self.operator_type_config[operator_type] = quantization_config
        return self

    def set_module_type(
        self, module_type: str | type, quantization_config: QuantizationConfig | None
    ) -> Self:
        """Sets the configuration of all operators in modules of a type and in their submodules.

        Args:
            module_type: the class of the modules, or its full name.
            quantization_config: the configuration; None keeps these operators in float.

        Raises:
            QuantizationError: the backend does not support the configuration, or `module_type` is no class
                and no name.
        """
        self._check(quantization_config)
        if not isinstance(module_type, str) and not hasattr(module_type, "__qualname__"):
            raise QuantizationError(
                f"{self.name}: {type(module_type).__name__}(...) is a value, not a class of modules such as "
                "torch.nn.Linear or its full name"
            )
        self.module_type_config[module_type] = quantization_config
        return self

    def set_module_name(self, module_name: str, quantization_config: QuantizationConfig | None) -> Self:
        """Sets the configuration of all operators in a module and in its submodules.

        Args:
            module_name: the name of the module, such as `blocks.0.attention`.
            quantization_config: the configuration; None keeps these operators in float.

        Raises:
            QuantizationError: the backend does not support the configuration.
        """
        self._check(quantization_config)
        self.module_name_config[module_name] = quantization_config
        return self

    def set_filter_function(self, filter_fn: Filter) -> Self:
        """Sets a filter for operators.

        Args:
            filter_fn: is called with the node of an operator, and returns whether to quantize the operator.

        Raises:
            QuantizationError: `filter_fn` cannot be called.
        """
        if not callable(filter_fn):
            raise QuantizationError(f"{self.name}: {filter_fn!r} is not a function of a node")
        self.filter_fn = filter_fn
        return self

    def _check(self, config: QuantizationConfig | None) -> None:
        if config is None:
            return
        if not hasattr(config, "input_activation"):
            raise QuantizationError(
                f"{self.name}: a configuration is the result of a function such as static_int8(), not "
                f"{config!r}"
            )
        self.check(config)

    def _overloads(self, operator_type: object) -> list[OpOverload]:
        return [target for target in self._by_target if operator_type in (target, target.overloadpacket)]

    def config_of(self, node: Node) -> QuantizationConfig | None:
        """Returns the configuration of an operator's node."""
        if self.filter_fn is not None and not self.filter_fn(node):
            return None
        stack = meta.module_types_of(node)
        names = [path for path, _ in stack]
        for name in reversed(names):
            if name in self.module_name_config:
                return self.module_name_config[name]
        types = {type_name(kind) for _, kind in stack}
        for kind, config in self.module_type_config.items():
            if type_name(kind) in types:
                return config
        if any(self._is_of_type(node, operator_type) for operator_type in self.operator_type_config):
            return self._named_config(node)
        return self.global_config

    def _named_config(self, node: Node) -> QuantizationConfig | None:
        """The configuration of the operator from `set_operator_type`, or None."""
        for operator_type, config in self.operator_type_config.items():
            if self._is_of_type(node, operator_type):
                return config
        return None

    def _is_of_type(self, node: Node, operator_type: object) -> bool:
        return operator_type in (node.target, getattr(node.target, "overloadpacket", None))

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Replaces Python numbers in additions and multiplications by constant tensors.

        Only tensors can be quantized.
        """
        binary = {t for p in self.patterns if p.kind is Kind.BINARY for t in p.targets}
        for node in list(model.graph.nodes):
            if node.op != "call_function" or node.target not in binary or not _is_float(node):
                continue
            config = self.config_of(node)
            if config is None or specs.is_dynamic(config) or specs.is_weight_only(config):
                continue
            args = [arg if isinstance(arg, Node) else _constant(model, node, arg) for arg in node.args[:2]]
            node.args = (*args, *node.args[2:])
        model.recompile()
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Writes the quantization of each operator to `node.meta["quantization_annotation"]`."""
        for node in list(model.graph.nodes):
            pattern = self._by_target.get(node.target) if node.op == "call_function" else None
            if pattern is None or is_annotated(node):
                continue
            config = self.config_of(node)
            if config is not None and not (pattern.named and self._named_config(node) is None):
                self._annotate(node, pattern, config, model)
        self._warn_of_idle(model)
        return model

    def validate(self, model: GraphModule) -> None:
        """Warns if nothing in the model is quantized, and gives the warnings of `concerns`.

        `rushlight.quantize.prepare_pt2e` raises an error if nothing is quantized.
        """
        if not quantizes(model):
            warnings.warn(self.explain_nothing(model), QuantizationWarning, stacklevel=3)
            return
        for concern in self.concerns(model):
            warnings.warn(concern, QuantizationWarning, stacklevel=3)

    def concerns(self, model: GraphModule) -> Iterator[str]:
        """Yields warnings about an annotated model.

        An example is a list of layers that stay in float because their configuration does not apply to them.
        """
        left: dict[str, list[str]] = {}
        for node, pattern, config in self.weighted(model):
            if not is_annotated(node) and not _applies(node, pattern, config):
                left.setdefault(specs.mode(config), []).append(layer_name(node))
        for mode, layers in left.items():
            yield (
                f"{self.name} leaves {len(layers)} layer{'s' * (len(layers) > 1)} in float, because "
                f"{mode} configurations do not apply to them: {listed(layers)}. static_int8() with "
                "calibration data quantizes them; set_operator_type(operator, None) removes this "
                "warning"
            )
        recurrent = [node for node in model.graph.nodes if self._is_float_recurrent(node)]
        if recurrent:
            reason = (
                "static configurations do not apply to them; weight_only_int8() and dynamic_int8() quantize "
                "their weights"
                if any(pattern.kind is Kind.RECURRENT for pattern in self.patterns)
                else f"{self.name} does not quantize LSTM, GRU and RNN"
            )
            yield (
                f"{self.name} leaves {len(recurrent)} recurrent layer{'s' * (len(recurrent) > 1)} in float: "
                f"{listed([layer_name(node) for node in recurrent])}, because {reason}. "
                f"set_operator_type(torch.ops.{recurrent[0].target}, None) removes this warning"
            )

    def _is_float_recurrent(self, node: Node) -> bool:
        return node.target in RECURRENT and not is_annotated(node) and self.config_of(node) is not None

    def weighted(self, model: GraphModule) -> Iterator[tuple[Node, Pattern, QuantizationConfig]]:
        """Yields the linear layers and convolutions that have constant weights and a configuration."""
        for node in model.graph.nodes:
            pattern = self._by_target.get(node.target) if node.op == "call_function" else None
            if pattern is None or pattern.kind is not Kind.WEIGHTED or not is_float32(node):
                continue
            config = self.config_of(node)
            weight = node.args[1]
            if config is not None and isinstance(weight, Node) and weight.op == "get_attr":
                yield node, pattern, config

    def explain_nothing(self, model: GraphModule) -> str:
        """Returns why nothing in a model is quantized."""
        found = sorted({str(n.target) for n in model.graph.nodes if isinstance(n.target, OpOverload)})
        what = ", ".join(found[:12]) + (", ..." if len(found) > 12 else "")
        known = ", ".join(pattern.name for pattern in self.patterns)
        if any("quantize_per" in name for name in found):
            return "there is nothing to quantize: the model is quantized already"
        if not self._configs():
            return (
                f"there is nothing to quantize: {self.name} has no configuration; call set_global, "
                "set_module_type, set_module_name or set_operator_type first"
            )
        dtypes = self._dtypes_of_supported(model)
        if dtypes:
            return (
                f"there is nothing to quantize: the layers are {' and '.join(dtypes)}, and {self.name} "
                "quantizes float32 layers only; call model.float() first"
            )
        return (
            f"there is nothing to quantize: the model's operators are {what or 'none'}; "
            f"{self.name} can quantize {known}; check the configurations that were set"
        )

    def _dtypes_of_supported(self, model: GraphModule) -> list[str]:
        """Returns the dtypes of the operators that could be quantized, or nothing if one is float32."""
        found = set()
        for node in model.graph.nodes:
            value = meta.find_val(node) if node.target in self._by_target else None
            if isinstance(value, torch.Tensor):
                found.add(value.dtype)
        if torch.float32 in found:
            return []
        return sorted(str(dtype).removeprefix("torch.") for dtype in found if dtype.is_floating_point)

    def _configs(self) -> list[QuantizationConfig]:
        tables = (self.operator_type_config, self.module_type_config, self.module_name_config)
        configs = [self.global_config, *(config for table in tables for config in table.values())]
        return [config for config in configs if config is not None]

    def _warn_of_idle(self, model: GraphModule) -> None:
        """Warns about configured module names and module types that the model does not have."""
        if not self.module_name_config and not self.module_type_config:
            return
        stack = {item for node in model.graph.nodes for item in meta.module_types_of(node)}
        names, types = {path for path, _ in stack}, {type_name(kind) for _, kind in stack}
        for kind in self.module_type_config:
            if type_name(kind) not in types:
                warnings.warn(
                    f"{self.name}: the model has no module of type {type_name(kind)}; its configuration is "
                    "ignored",
                    stacklevel=4,
                )
        for name in self.module_name_config:
            if name not in names:
                warnings.warn(
                    f"{self.name}: the model has no module named {name!r}; its configuration is ignored",
                    stacklevel=4,
                )

    def _annotate(self, node: Node, pattern: Pattern, config: QuantizationConfig, model: GraphModule) -> None:
        if pattern.kind in (Kind.TABLE, Kind.RECURRENT):
            if pattern.weight_only and specs.mode(config) != "static" and config.weight is not None:
                table = node.args[0]
                matrices = recurrent_matrices(node)
                if pattern.kind is Kind.TABLE:
                    assert isinstance(table, Node)
                    matrices = [table]
                spec = specs.without_sums(config.weight)
                write_annotation(node, {m: weight_specification(m, spec, 0) for m in matrices}, None)
            return
        if not _applies(node, pattern, config):
            return
        match = find_match(node, pattern, config.is_qat)
        if any(is_annotated(part) for part in match.nodes):
            match = Match(pattern, node, node, ())
        if pattern.kind is Kind.WEIGHTED:
            self._weighted(match, config)
        elif pattern.kind is Kind.BINARY:
            self._binary(match, config, model)
        elif pattern.always or any(output_spec(source) is not None for source in _sources(match)):
            self._follow(match, config)

    def _weighted(self, match: Match, config: QuantizationConfig) -> None:
        node = match.anchor
        act, weight = node.args[0], node.args[1]
        if not isinstance(act, Node) or not isinstance(weight, Node) or config.weight is None:
            return
        if weight.op != "get_attr" or (config.input_activation is not None and not is_float32(act)):
            return
        weight_spec = weight_specification(weight, config.weight, match.pattern.weight_axis)
        # pt2e uses the first entry as the input when it folds batch norms in training.
        inputs: dict[Node, object] = {act: config.input_activation}
        if specs.is_weight_only(config) and not specs.is_grouped(weight_spec):
            inputs = {}
        inputs[weight] = weight_spec
        bias = node.args[2] if len(node.args) > 2 else None
        if isinstance(bias, Node):
            inputs[bias] = config.bias
        if config.output_activation is None:
            write_annotation(node, inputs, None)
        else:
            write_match_annotation(match, inputs, config.output_activation)

    def _binary(self, match: Match, config: QuantizationConfig, model: GraphModule) -> None:
        operands = [arg for arg in match.anchor.args[:2] if isinstance(arg, Node)]
        if len(operands) != 2 or config.output_activation is None:
            return
        if not all(is_float32(arg) and not _is_huge(arg, model) for arg in operands):
            return
        write_match_annotation(
            match, dict.fromkeys(operands, config.input_activation), config.output_activation
        )

    def _follow(self, match: Match, config: QuantizationConfig) -> None:
        """Annotates an operator of the kind UNARY, SHARED or CONCAT."""
        node, kind = match.anchor, match.pattern.kind
        sources = _sources(match)
        if not sources or not all(isinstance(source, Node) and is_float32(source) for source in sources):
            return
        nodes = [source for source in sources if isinstance(source, Node)]
        if kind is Kind.UNARY:
            output, known = config.output_activation, match.pattern.output
            if known is not None and output is not None and output.dtype == known.dtype:
                output = known
            write_match_annotation(match, {nodes[0]: config.input_activation}, output)
            return
        if kind is Kind.SHARED:
            source = nodes[0]
            if output_spec(source) is not None:
                shared = SharedQuantizationSpec(source)
                write_annotation(node, {source: shared}, shared)
            else:
                write_annotation(
                    node, {source: config.input_activation}, SharedQuantizationSpec((source, node))
                )
            return
        first = next((source for source in nodes if output_spec(source) is not None), nodes[0])
        shared = SharedQuantizationSpec((first, node))
        write_annotation(
            node, {source: shared for source in nodes} | {first: config.input_activation}, shared
        )


def _applies(node: Node, pattern: Pattern, config: QuantizationConfig) -> bool:
    """Whether a configuration can quantize an operator of a pattern."""
    mode = specs.mode(config)
    wanted = {"dynamic": pattern.dynamic, "weight-only": pattern.weight_only, "static": pattern.static}
    return wanted[mode] and pattern.accept(node, mode == "dynamic")


def _sources(match: Match) -> list[Any]:
    """The nodes that compute the first argument of a match."""
    first = match.anchor.args[0]
    return list(first) if isinstance(first, (list, tuple)) else [first]


def quantizes(model: GraphModule) -> bool:
    """Returns whether the annotations of a model quantize anything."""
    annotations = [a for node in model.graph.nodes if (a := meta.get_annotation(node)) is not None]
    return any(annotation.input_qspec_map or annotation.output_qspec for annotation in annotations)


def nothing_reason(quantizer: Quantizer, model: GraphModule) -> str:
    """Returns the reason why a quantizer quantizes nothing in a model, for an error message."""
    explain = getattr(quantizer, "explain_nothing", None)
    if explain is None:
        return "there is nothing to quantize: the quantizer has annotated no operator"
    return str(explain(model))


def is_annotated(node: Node) -> bool:
    """Returns whether a quantizer annotated the node."""
    annotation = meta.get_annotation(node)
    return annotation is not None and bool(annotation._annotated)


def output_spec(node: object) -> Any:
    """Returns the quantization of a node's result, or None if it is float or not annotated."""
    annotation = meta.get_annotation(node) if isinstance(node, Node) else None
    return None if annotation is None else annotation.output_qspec


def write_annotation(node: Node, inputs: Mapping[Any, object], output: object) -> None:
    """Writes the annotation of a node.

    Args:
        node: the node.
        inputs: the specifications of the inputs, by the nodes that compute them.
        output: the specification of the result, or None.
    """
    annotation = QuantizationAnnotation(input_qspec_map=inputs, output_qspec=output, _annotated=True)
    meta.set_annotation(node, annotation)


def write_match_annotation(match: Match, inputs: Mapping[Any, object], output: object) -> None:
    """Writes the annotations of a match: inputs at its first node, the output at its last node.

    Args:
        match: the match.
        inputs: the specifications of the inputs, by the nodes that compute them.
        output: the specification of the result, or None.
    """
    if match.output is match.anchor:
        write_annotation(match.anchor, inputs, output)
        return
    write_annotation(match.anchor, inputs, None)
    for node in match.between:
        write_annotation(node, {}, None)
    write_annotation(match.output, {}, output)


def weight_specification(weight: Node, spec: QuantizationSpec, axis: int) -> QuantizationSpec:
    """Returns the specification of a weight with output channels along `axis`.

    Only matrices of at least two columns are quantized in groups. Other weights get 8 bits and one scale for
    each channel.
    """
    val = meta.get_tensor(weight)
    if specs.is_grouped(spec) and (val is None or val.dim() != 2 or val.shape[1] < 2):
        spec = specs.weight()
    return specs.on_axis(spec, axis)


def type_name(kind: str | type) -> str:
    """Returns the full name of a module class, given as a class or as a name."""
    return kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


def _is_float(node: Node) -> bool:
    val = meta.get_tensor(node)
    return val is not None and val.dtype.is_floating_point


def is_float32(node: Node) -> bool:
    """Returns whether the node's value is a float32 tensor."""
    val = meta.get_tensor(node)
    return val is not None and val.dtype == torch.float32


def is_quantizable(node: Node) -> bool:
    """Returns whether the node's value is a tensor that the quantize operators accept."""
    val = meta.get_tensor(node)
    return val is not None and val.dtype in FLOATS


def _is_huge(node: Node, model: GraphModule) -> bool:
    """Whether a node is a constant scalar that represents infinity, as in attention masks.

    torch.histc, which observers call, does not support such values.
    """
    if node.op != "get_attr":
        return False
    value: object = model
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return isinstance(value, torch.Tensor) and value.numel() == 1 and abs(float(value)) > _HISTOGRAM_LIMIT


def _constant(model: GraphModule, user: Node, number: Any) -> Node:
    """Adds a constant tensor with zero dimensions, and returns the node that reads it."""
    index = 0
    while hasattr(model, f"_tensor_constant_{index}"):
        index += 1
    tensor = torch.tensor(float(number))
    model.register_buffer(f"_tensor_constant_{index}", tensor)
    with model.graph.inserting_before(user):
        node = model.graph.create_node("get_attr", f"_tensor_constant_{index}")
    val = meta.get_tensor(user)
    fake_mode = getattr(val, "fake_mode", None)
    meta.set_val(node, tensor if fake_mode is None else fake_mode.from_tensor(tensor, static_shapes=True))
    return node


def is_depthwise(conv: Node) -> bool:
    """Returns whether a convolution is depthwise: each output channel reads one input channel."""
    weight = meta.get_tensor(conv.args[1])  # type: ignore[arg-type]
    return weight is not None and groups_of(conv) > 1 and weight.shape[1] == 1
