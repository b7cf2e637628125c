"""Wraps a quantizer and keeps some layers in float."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (
    DerivedQuantizationSpec,
    QuantizationAnnotation,
    Quantizer,
    SharedQuantizationSpec,
)

from rushlight.ir import meta
from rushlight.quantize.errors import QuantizationError
from rushlight.quantize.layers import is_quantization, layer_name, listed
from rushlight.quantize.pattern_quantizer import nothing_reason, type_name


class ExcludeFromQuantization(Quantizer):  # type: ignore[misc]
    """Wraps another quantizer and keeps the given layers in float.

    Operators that fuse with such a layer, or share its quantization parameters, also stay in float.

    Args:
        quantizer: the other quantizer.
        layers: names of nodes (`conv2d_3`), or names of layers from reports (`features.2.conv2d_3`).
        modules: names of modules (`features.2`). Their submodules also stay in float.
        types: classes of modules, or their names (`Linear`, `torch.nn.modules.linear.Linear`).
    """

    def __init__(
        self,
        quantizer: Quantizer,
        layers: Collection[str] = (),
        *,
        modules: Collection[str] = (),
        types: Collection[type | str] = (),
    ) -> None:
        super().__init__()
        self.quantizer = quantizer
        self._layers = {name.rpartition(".")[2]: name for name in layers}
        self._modules = tuple(modules)
        self._types = {kind if isinstance(kind, str) else type_name(kind) for kind in types}

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Runs the transformation of the other quantizer.

        Args:
            model: the graph of a program of torch.export.

        Returns:
            The model that the other quantizer returns.
        """
        transformed: GraphModule = self.quantizer.transform_for_annotation(model)
        return transformed

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates as the other quantizer does, then removes the annotations of layers that stay in float.

        Args:
            model: the graph of a program of torch.export.

        Returns:
            The annotated model.

        Raises:
            QuantizationError: a name or type is not in the model.
        """
        model = self.quantizer.annotate(model)
        self._check_names(model)
        removed = {
            node for unit in units_of(model) if any(self._is_named(node) for node in unit) for node in unit
        }
        while removed:
            for node in removed:
                meta.set_annotation(node, None)
            annotated = [node for node in model.graph.nodes if meta.get_annotation(node) is not None]
            removed = {
                node
                for unit in units_of(model)
                if any(_refers_to_removed(node, annotated) for node in unit)
                for node in unit
            }
        return model

    def validate(self, model: GraphModule) -> None:
        """Runs the validation of the other quantizer.

        Args:
            model: the annotated model.
        """
        self.quantizer.validate(model)

    def explain_nothing(self, model: GraphModule) -> str:
        """Returns why nothing in a model is quantized.

        Args:
            model: the graph of a program of torch.export.

        Returns:
            The text of an error message, from the other quantizer.
        """
        return nothing_reason(self.quantizer, model)

    def _is_named(self, node: Node) -> bool:
        if node.name in self._layers:
            return True
        paths, types = modules_of(node)
        return any(path in self._modules for path in paths) or any(
            kind in self._types or kind.rpartition(".")[2] in self._types for kind in types
        )

    def _check_names(self, model: GraphModule) -> None:
        names = {node.name for node in model.graph.nodes}
        stacks = [modules_of(node) for node in model.graph.nodes]
        paths = {path for stack, _ in stacks for path in stack}
        types = {word for _, kinds in stacks for kind in kinds for word in (kind, kind.rpartition(".")[2])}
        for what, given, known in (
            ("layer", self._layers, names),
            ("module", self._modules, paths),
            ("module of type", self._types, types),
        ):
            for name in given:
                if name not in known:
                    shown = self._layers[name] if what == "layer" else name
                    raise QuantizationError(
                        f"the model has no {what} {shown!r} to keep in float; "
                        + self._advice(what, shown, paths, model)
                    )

    def _advice(self, what: str, name: str, paths: set[str], model: GraphModule) -> str:
        """A text for an error message: the names that exist in the model."""
        if what == "layer":
            if name in paths:
                return f"a module has this name: use modules=[{name!r}]"
            layers = [layer_name(unit[0]) for unit in units_of(model)]
            return f"its quantized layers are {listed(layers)}"
        if what == "module":
            return f"its modules are {listed(sorted(path for path in paths if path))}"
        kinds = {kind.rpartition(".")[2] for node in model.graph.nodes for kind in modules_of(node)[1]}
        return f"its modules have the types {listed(sorted(kinds))}"


def modules_of(node: Node) -> tuple[list[str], list[str]]:
    """Returns the modules that contain a node, outermost first.

    Args:
        node: a node of a program of torch.export.

    Returns:
        The paths of the modules, such as "features.2", and the names of their types, in the same order.
    """
    stack = meta.module_types_of(node)
    return [path for path, _ in stack], [type_name(kind) for _, kind in stack]


def units_of(model: GraphModule) -> list[list[Node]]:
    """Returns the groups of nodes that a quantizer annotated as one unit.

    Args:
        model: the annotated model.

    Returns:
        The groups in the order of the graph. A group is an operator with quantized inputs, followed by the
        operators that fuse with it.
    """
    units, fused = [], set()
    for node in model.graph.nodes:
        annotation = meta.get_annotation(node)
        if annotation is None or node in fused or node.op != "call_function":
            continue
        unit = [node]
        while (after := _fused_after(unit[-1])) is not None:
            unit.append(after)
        fused.update(unit)
        units.append(unit)
    return units


def _fused_after(node: Node) -> Node | None:
    """The user of a node that fuses with it, or None."""
    annotation: QuantizationAnnotation = meta.get_annotation(node)
    users = [user for user in node.users if user.target is not torch.ops.aten.sym_size.int]
    if annotation.output_qspec is not None or len(users) != 1 or is_quantization(users[0]):
        return None
    following = meta.get_annotation(users[0])
    if following is None or following.input_qspec_map:
        return None
    return users[0]


def _refers_to_removed(node: Node, annotated: list[Node]) -> bool:
    """Whether a node shares the quantization parameters of a node that is not in `annotated`."""
    annotation: QuantizationAnnotation = meta.get_annotation(node)
    specs = [annotation.output_qspec, *annotation.input_qspec_map.values()]
    for spec in specs:
        sources: list[object] = []
        if isinstance(spec, SharedQuantizationSpec):
            sources = [spec.edge_or_node]
        elif isinstance(spec, DerivedQuantizationSpec):
            sources = list(spec.derived_from)
        for source in sources:
            owner = source[1] if isinstance(source, tuple) else source
            if owner not in annotated:
                return True
    return False
