"""The steps of quantization: prepare, calibrate or train, convert, export.

The functions call those of torchao, and check more of their arguments.
"""

from __future__ import annotations

import inspect
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.node import Target
from torchao.quantization.pt2e import (
    AffineQuantizedObserverBase,
    FakeQuantizeBase,
    ObserverBase,
    quantize_pt2e,
)
from torchao.quantization.pt2e.quantizer import Quantizer

from rushlight.ir import meta
from rushlight.ir.program import DynamicShapes, dynamic_shapes_of, keep_ranges
from rushlight.ir.progress import counted, working
from rushlight.quantize.errors import QuantizationError
from rushlight.quantize.inputs import Inputs, arguments_of, as_arguments, check_arguments
from rushlight.quantize.observers import Checked
from rushlight.quantize.pattern_quantizer import nothing_reason, quantizes
from rushlight.quantize.patterns import CONV, CONV_TRANSPOSE, aten, groups_of


class _StrictQuantizer(Quantizer):  # type: ignore[misc]
    """Wraps a quantizer, and raises QuantizationError if it quantizes nothing."""

    def __init__(self, quantizer: Quantizer) -> None:
        super().__init__()
        if isinstance(quantizer, type) or not callable(getattr(quantizer, "transform_for_annotation", None)):
            given = (
                f"the class {quantizer.__name__}" if isinstance(quantizer, type) else type(quantizer).__name__
            )
            raise QuantizationError(
                "the quantizer must be an object such as CpuQuantizer().set_global(static_int8()), not "
                f"{given}"
            )
        self._quantizer = quantizer

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        transformed: GraphModule = self._quantizer.transform_for_annotation(model)
        return transformed

    def annotate(self, model: GraphModule) -> GraphModule:
        annotated: GraphModule = self._quantizer.annotate(model)
        return annotated

    def validate(self, model: GraphModule) -> None:
        self._quantizer.validate(model)  # first, because its error is more specific
        if not quantizes(model):
            raise QuantizationError(nothing_reason(self._quantizer, model))

    def prepare_obs_or_fq_callback(self, model: GraphModule, edge_or_node_to_obs_or_fq: object) -> None:
        self._quantizer.prepare_obs_or_fq_callback(model, edge_or_node_to_obs_or_fq)


_OBSERVERS = (ObserverBase, FakeQuantizeBase, AffineQuantizedObserverBase)


def prepare_pt2e(model: GraphModule | ExportedProgram, quantizer: Quantizer) -> GraphModule:
    """Inserts observers into a model, for calibration.

    The observers of weights read the weights immediately. They need no calibration.

    Args:
        model: a program of torch.export, or its module.
        quantizer: selects the operators that are quantized, and their configurations.

    Returns:
        The module with observers, for `calibrate` and `convert_pt2e`.

    Raises:
        QuantizationError: the quantizer finds nothing to quantize.
    """
    module = _module(model)
    _separate_norms(module)
    return _prepared(quantize_pt2e.prepare_pt2e(module, _StrictQuantizer(quantizer)))


_NORMS = (aten._native_batch_norm_legit_no_training.default, aten.batch_norm.default)


def _separate_norms(module: GraphModule) -> None:
    """Changes the graph such that torchao folds batch norms into convolutions without wrong results.

    torchao folds each batch norm into the convolution that computes its input. This changes the results of
    the other operators that read the convolution or its weight. So a convolution gets its own copy of a
    shared weight, and a copy of its result is normalized if the result has other readers. Folding into a
    transposed convolution with groups fails; its result is copied, too.
    """
    nodes = module.graph.nodes
    readers = Counter(node.target for node in nodes if node.op == "get_attr" for _ in node.users)
    for norm in [node for node in nodes if node.op == "call_function" and node.target in _NORMS]:
        conv = norm.args[0]
        if not isinstance(conv, Node) or conv.target not in CONV | CONV_TRANSPOSE:
            continue
        users = [user for user in conv.users if user.target is not aten.sym_size.int]
        if len(users) > 1 or (conv.target in CONV_TRANSPOSE and groups_of(conv) > 1):
            with module.graph.inserting_after(conv):
                copied = module.graph.call_function(aten.clone.default, (conv,))
            meta.add_all(conv, copied)
            norm.replace_input_with(conv, copied)
            continue
        for source in conv.args[1:3]:
            if isinstance(source, Node) and source.op == "get_attr" and readers[source.target] > 1:
                _copy_parameter(module, source, conv)
    module.recompile()


def _copy_parameter(module: GraphModule, source: Node, reader: Node) -> None:
    """Lets a node read a copy of a parameter. `source` is the node of the parameter."""
    value = operator.attrgetter(str(source.target))(module)
    name = f"{str(source.target).replace('.', '_')}_of_{reader.name}"
    module.register_parameter(name, torch.nn.Parameter(value.detach().clone(), requires_grad=False))
    with module.graph.inserting_before(reader):
        copied = module.graph.get_attr(name)
    meta.add_all(source, copied)
    reader.replace_input_with(source, copied)


def prepare_qat_pt2e(model: GraphModule | ExportedProgram, quantizer: Quantizer) -> GraphModule:
    """Inserts fake quantization into a model, for quantization-aware training.

    Args:
        model: a program of torch.export, or its module.
        quantizer: selects the operators that are quantized, and their configurations.

    Returns:
        The module with observers, for `calibrate` and `convert_pt2e`.

    Raises:
        QuantizationError: the quantizer finds nothing to quantize.
    """
    return _prepared(quantize_pt2e.prepare_qat_pt2e(_module(model), _StrictQuantizer(quantizer)))


def convert_pt2e(model: GraphModule, *, fold_quantize: bool = True) -> GraphModule:
    """Converts a prepared model to a quantized model.

    The quantized model has integer weights, and operators that quantize and dequantize.

    Args:
        model: the prepared model, after calibration or training.
        fold_quantize: store the quantized weights instead of quantizing them at run time.

    Raises:
        QuantizationError: an observer has seen no data.
    """
    for observer in model.modules():
        if isinstance(observer, Checked):
            observer.strict = True
    is_trained = any(isinstance(module, FakeQuantizeBase) for module in model.modules())
    if is_trained:
        trained: GraphModule = quantize_pt2e.convert_pt2e(model, fold_quantize=fold_quantize)
        return trained
    norms = {stand_in: norm for norm, stand_in in _STAND_INS.items()}
    _replace_targets(model, _STAND_INS)
    try:
        converted: GraphModule = quantize_pt2e.convert_pt2e(model, fold_quantize=fold_quantize)
    except Exception:
        _replace_targets(model, norms)
        raise
    _replace_targets(converted, norms)
    return converted


def _stand_in_of(norm: OpOverload) -> Callable[..., object]:
    """Returns a function that torchao does not recognize as a batch norm."""

    def batch_norm(*args: object, **kwargs: object) -> object:
        return norm(*args, **kwargs)

    return batch_norm


# If torchao sees a batch norm, it exports about a hundred patterns of quantization-aware training, for many
# seconds. After training, these patterns fold the norms into convolutions. Without training, none matches.
_STAND_INS: dict[Target, Target] = {norm: _stand_in_of(norm) for norm in _NORMS}


def _replace_targets(model: GraphModule, targets: Mapping[Target, Target]) -> None:
    """Changes the targets of nodes in a graph and in the graphs of its submodules."""
    for module in model.modules():
        if isinstance(module, GraphModule):
            for node in module.graph.nodes:
                if node.op == "call_function" and node.target in targets:
                    node.target = targets[node.target]
            module.recompile()


def calibrate(model: GraphModule, data: Iterable[Inputs]) -> int:
    """Runs a prepared model on data, so that its observers see the values.

    Args:
        model: the prepared model.
        data: inputs; each item is a tuple of arguments, one tensor, or a dict from name to argument. In a
            tuple, keyword inputs follow the positional ones.

    Returns:
        The number of items.

    Raises:
        QuantizationError: there are no items, an item does not fit the model, or a value is NaN or infinite.
    """
    count = 0
    with torch.no_grad():
        for inputs in counted("calibrate", data):
            arguments = arguments_of(model, inputs, f"calibration: item {count} of the data")
            check_arguments(model, arguments, f"calibration: item {count} of the data")
            model(*arguments)
            count += 1
    if count == 0:
        raise QuantizationError(
            "calibration: no data was given; pass some representative inputs, for example a few hundred"
        )
    return count


def quantize(
    model: torch.nn.Module | ExportedProgram,
    example_inputs: Inputs | None,
    quantizer: Quantizer,
    data: Iterable[Inputs] | None = None,
    *,
    example_kwargs: Mapping[str, object] | None = None,
    dynamic_shapes: DynamicShapes = None,
) -> ExportedProgram:
    """Quantizes a model after training: export, prepare, calibrate, convert, export again.

    Args:
        model: a module, or a program of torch.export.
        example_inputs: the positional inputs of a module; None for a program.
        quantizer: selects the operators that are quantized, and their configurations.
        data: inputs for calibration; each item is a tuple of arguments, one tensor, or a dict from name to
            argument. In a tuple, keyword inputs follow the positional ones. Dynamic and weight-only
            configurations need no data.
        example_kwargs: the keyword inputs of a module.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export; None for those of a program.

    Returns:
        The quantized program, for `rushlight.compile` or `to_edge`.

    Raises:
        QuantizationError: a step fails. The message has the reason.
    """
    program = export_float(model, example_inputs, dynamic_shapes, example_kwargs)
    example, kwargs = program.example_inputs
    is_given = dynamic_shapes is not None and not _has_variadic_inputs(model)
    shapes = dynamic_shapes if is_given else dynamic_shapes_of(program)
    converted = quantized_module(program, quantizer, data)
    made = torch.export.export(converted, example, kwargs or None, dynamic_shapes=shapes, strict=False)
    return keep_ranges(made, program)


def _has_variadic_inputs(model: torch.nn.Module | ExportedProgram) -> bool:
    """Returns whether forward has `*args`, for which `dynamic_shapes` has a tuple.

    The converted module has a parameter for each of them instead, so that this tuple does not fit it.
    """
    if isinstance(model, ExportedProgram):
        return False
    parameters = inspect.signature(model.forward).parameters.values()
    return any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters)


def quantized_module(
    program: ExportedProgram, quantizer: Quantizer, data: Iterable[Inputs] | None
) -> GraphModule:
    """Prepares, calibrates and converts a program as `quantize` does, but does not export the result.

    Args:
        program: a program of torch.export. It is not changed.
        quantizer: selects the operators that are quantized, and their configurations.
        data: the arguments of the program, one tuple for each calibration run. None means no calibration,
            which dynamic and weight-only configurations allow.

    Returns:
        The module with quantize and dequantize operators.

    Raises:
        QuantizationError: the configuration needs data, and `data` is None.
    """
    prepared = prepare_pt2e(program, quantizer)
    if data is not None:
        calibrate(prepared, data)
    elif needs_data(prepared):
        raise QuantizationError(
            "calibration: no data was given, and this configuration needs data for the ranges of "
            "activations; pass data=, or use a dynamic or weight-only configuration"
        )
    return convert_pt2e(prepared)


def export_float(
    model: torch.nn.Module | ExportedProgram,
    example_inputs: Inputs | None,
    dynamic_shapes: DynamicShapes = None,
    example_kwargs: Mapping[str, object] | None = None,
) -> ExportedProgram:
    """Exports a model in evaluation mode. A program that is already exported is returned as it is.

    Args:
        model: a module, or a program of torch.export.
        example_inputs: the positional inputs of a module; None for a program.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export.
        example_kwargs: the keyword inputs of a module.
    """
    if isinstance(model, ExportedProgram):
        return model
    if example_inputs is None and example_kwargs is None:
        raise QuantizationError("example_inputs are needed to export a module")
    example = () if example_inputs is None else as_arguments(example_inputs)
    return _export(model, example, example_kwargs, dynamic_shapes)


def _export(
    model: torch.nn.Module,
    example: tuple[object, ...],
    kwargs: Mapping[str, object] | None,
    dynamic_shapes: DynamicShapes,
) -> ExportedProgram:
    """Exports a model in evaluation mode, and then restores the modes of its modules."""
    modes = {part: part.training for part in model.modules()}
    model.eval()
    try:
        with working("export the model"):
            given = dict(kwargs) if kwargs else None
            return torch.export.export(model, example, given, dynamic_shapes=dynamic_shapes, strict=False)
    finally:
        for part, training in modes.items():
            part.training = training


def needs_data(prepared: GraphModule) -> bool:
    """Returns whether an observer of a prepared model needs data and has seen none.

    Args:
        prepared: the model that `prepare_pt2e` returned.

    Returns:
        True if there is such an observer.
    """
    return any(isinstance(part, Checked) and not part.seen for part in _observers(prepared))


def _observers(prepared: GraphModule) -> list[Any]:
    named: Mapping[str, object] = dict(prepared.named_modules(remove_duplicate=False))
    calls = [node for node in prepared.graph.nodes if node.op == "call_module"]
    return [named[str(node.target)] for node in calls]


def _module(model: GraphModule | ExportedProgram) -> GraphModule:
    if not isinstance(model, ExportedProgram):
        return model
    return model.module()


def _prepared(model: GraphModule) -> GraphModule:
    """Sets `place` of the observers, and runs the observers of weights on the weights."""
    modules = dict(model.named_modules(remove_duplicate=False))
    if not any(isinstance(part, _OBSERVERS) for part in modules.values()):
        raise QuantizationError("there is nothing to quantize: the quantizer has annotated no operator")
    for node in model.graph.nodes:
        if node.op != "call_module":
            continue
        observer = modules[str(node.target)]
        if not isinstance(observer, _OBSERVERS):
            continue
        source = node.args[0]
        if isinstance(observer, Checked):
            observer.place = observer.place or _place(source)
        if isinstance(source, Node) and source.op == "get_attr":
            with torch.no_grad():
                observer(operator.attrgetter(str(source.target))(model))
    return model


def _place(node: object) -> str:
    """A description of a value for messages, such as "the result of conv2d of features.0"."""
    if not isinstance(node, Node):
        return ""
    if node.op == "placeholder":
        return f"input {node.name}"
    if node.op == "get_attr":
        return f"weight {node.target}"
    where = meta.source_of(node)
    module = meta.module_path_of(node)
    return " of ".join(
        [f"the result of {node.name}", *([module.removeprefix("L['self'].")] if module else [])]
    ) + (f" ({where})" if where else "")
