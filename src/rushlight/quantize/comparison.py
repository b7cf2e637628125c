"""Compares a quantized program with the float program on the user's data, for each layer and for the
outputs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from rushlight.ir.progress import counted
from rushlight.quantize.errors import QuantizationError
from rushlight.quantize.graph_runner import GraphRunner, NodeValues
from rushlight.quantize.inputs import Inputs, as_arguments, check_arguments
from rushlight.quantize.layers import Layer, how, pair_layers
from rushlight.quantize.measures import Agreement, Meter, tensors_of
from rushlight.quantize.report import EndToEnd, LayerRow, Report

FLOOR_DB = 10.0
"""The default limit of the signal-to-noise ratio of a layer: an error of 32 % of the signal."""

Runner = Callable[..., Any]


def compare(
    reference: ExportedProgram | GraphModule,
    quantized: ExportedProgram | GraphModule,
    data: Iterable[Inputs],
    *,
    floor_db: float = FLOOR_DB,
    also: Mapping[str, Runner] | None = None,
) -> Report:
    """Runs both programs on `data`, and measures the error of each layer and of the outputs.

    Args:
        reference: the float program, as a program of torch.export or a graph module.
        quantized: the quantized form of `reference`: the result of `quantize` or `convert_pt2e`.
        data: inputs; each item is a tuple of arguments or one tensor.
        floor_db: the signal-to-noise ratio in dB below which a layer counts as wrong.
        also: further forms of the program by name, such as a loaded `.pte` file. They must be callable with
            the arguments of an item. Only their outputs are compared.

    Returns:
        The report.

    Raises:
        QuantizationError: there are no data, the data do not fit the model, or the programs have no common
            operator.
    """
    pair = Pair(reference, quantized)
    runners = dict(also or {})
    accumulated = [Meter() for _ in pair.layers]
    own = [Meter() for _ in pair.layers]
    ends: dict[str, _OutputMeter] = {}
    items = 0
    for inputs in counted("compare with the float program", data):
        arguments = as_arguments(inputs)
        check_arguments(pair.reference.module, arguments, f"comparison: item {items} of the data")
        floats, values = pair.reference.run(arguments), pair.quantized.run(arguments)
        for index, layer in enumerate(pair.layers):
            accumulated[index].add(floats[layer.reference], values[layer.result])
            own[index].add(floats[layer.reference], pair.own(layer, floats, values))
        expected = pair.reference.result(floats)
        results = {"quantized": pair.quantized.result(values)}
        with torch.no_grad():
            results |= {name: run(*arguments) for name, run in runners.items()}
        for name, result in results.items():
            ends.setdefault(name, _OutputMeter()).add(expected, result)
        items += 1
    if items == 0:
        raise QuantizationError("comparison: no data was given; pass a few representative inputs")
    rows = [
        LayerRow(
            layer.name,
            layer.operator,
            how(layer),
            None if layer.source is None else str(layer.source),
            "" if layer.source is None else layer.source.code,
            whole.result(),
            alone.result(),
        )
        for layer, whole, alone in zip(pair.layers, accumulated, own, strict=True)
    ]
    return Report(rows, [end.row(name) for name, end in ends.items()], items, floor_db)


class Pair:
    """A float program and its quantized form, with the layers that both have."""

    def __init__(
        self, reference: ExportedProgram | GraphModule, quantized: ExportedProgram | GraphModule
    ) -> None:
        self.reference, self.quantized = GraphRunner(reference), GraphRunner(quantized)
        found = pair_layers(self.reference, self.quantized)
        if not found:
            raise QuantizationError(
                "comparison: the two programs share no operator; make the second program from the first with "
                "prepare_pt2e and convert_pt2e"
            )
        self._all = {layer.node: layer for layer in found}
        self.layers = [layer for layer in found if not layer.moves_only]

    def layer_of(self, node: Node) -> Layer | None:
        """Returns the layer of a node of the quantized program, or None.

        The value of a layer with several results, such as an LSTM, is the tuple of its results.
        """
        found = self._all.get(node)
        items = (self._all.get(user) for user in node.users if user.target is operator.getitem)
        item = next((item for item in items if item is not None), None)
        if found is not None or item is None:
            return found
        return Layer(item.reference.all_input_nodes[0], node, node)

    def own(
        self, layer: Layer, floats: NodeValues, values: NodeValues, inside: frozenset[Node] = frozenset()
    ) -> Any:
        """Computes a quantized layer on the inputs that the layer has in the float program.

        Args:
            layer: the layer.
            floats: the values of the float program.
            values: the values of the quantized program.
            inside: further nodes of the quantized program that are computed as part of the layer.

        Returns:
            The value of the layer.
        """

        def known(node: Node) -> tuple[Any] | None:
            if node.op == "placeholder":
                return (values[node],)
            other = self._all.get(node)
            if other is None or node is layer.node or node in inside:
                return None
            return (floats[other.reference],)

        return self.quantized.part(layer.result, known)


class _OutputMeter:
    """Accumulates the difference of the outputs of one form of the program."""

    def __init__(self) -> None:
        self._meter, self._agreement = Meter(), Agreement()

    def add(self, expected: object, actual: object) -> None:
        for a, b in zip(tensors_of(expected), _as_tensors(actual), strict=True):
            self._meter.add(a, b)
            self._agreement.add(a, b)

    def row(self, name: str) -> EndToEnd:
        return EndToEnd(name, self._meter.result(), self._agreement.share())


def _as_tensors(value: object) -> list[torch.Tensor]:
    """The floating-point results of a runner. Numpy arrays become tensors."""
    leaves = torch.utils._pytree.tree_leaves(value)
    return tensors_of([torch.as_tensor(leaf) if hasattr(leaf, "__array__") else leaf for leaf in leaves])
