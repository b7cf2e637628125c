"""Measures how sensitive each layer is to quantization, and selects layers that stay float."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import Quantizer

from rushlight.ir import meta
from rushlight.ir.json_types import JsonObject
from rushlight.ir.program import DynamicShapes
from rushlight.ir.progress import counted
from rushlight.ir.text_table import text_table
from rushlight.quantize.comparison import Pair
from rushlight.quantize.errors import QuantizationError
from rushlight.quantize.exclusion import ExcludeFromQuantization, units_of
from rushlight.quantize.flow import export_float, quantize, quantized_module
from rushlight.quantize.inputs import Inputs, as_arguments
from rushlight.quantize.layers import Layer, how
from rushlight.quantize.measures import Difference, Meter, difference, tensors_of
from rushlight.quantize.patterns import BATCH_NORM
from rushlight.quantize.report import decibels
from rushlight.quantize.tables import Sections, Table, bars, page


@dataclass(frozen=True)
class LayerSensitivity:
    """How quantizing one layer alone changes the model.

    Args:
        name: the name of the layer, such as `features.2.conv2d_3`.
        operator: the name of the operator.
        how: the dtypes, such as "int8, weights int8".
        source: "file:line" in the source code of the model, or None.
        weights: the number of weights.
        result: the difference of the outputs of the model.
        own: the difference of the result of the layer.
    """

    name: str
    operator: str
    how: str
    source: str | None
    weights: int
    result: Difference
    own: Difference

    def to_dict(self) -> JsonObject:
        """Returns plain data for JSON."""
        return {
            "layer": self.name,
            "operator": self.operator,
            "how": self.how,
            "source": self.source,
            "weights": self.weights,
            "result": self.result.to_dict(),
            "own": self.own.to_dict(),
        }


@dataclass(frozen=True)
class Sensitivity:
    """How quantizing each layer alone changes the outputs of the model.

    Args:
        layers: one row for each layer, the largest error first.
        whole: the difference of the outputs with all layers quantized.
        items: the number of inputs that were measured.
    """

    layers: list[LayerSensitivity]
    whole: Difference
    items: int

    def worst(self, count: int) -> list[str]:
        """Returns the names of the most sensitive layers, for `ExcludeFromQuantization`.

        Args:
            count: the number of layers. If there are fewer, all are returned.

        Returns:
            The names, the most sensitive layer first.
        """
        return [row.name for row in self.layers[:count]]

    def text(self) -> str:
        """Returns a table for a terminal, with bars. The most sensitive layer is first."""
        noise = [_noise(row.result) for row in self.layers]
        longest = max(noise, default=0.0) or 1.0
        plots = ["#" * round(24 * amount / longest) for amount in noise]
        rows = [[*cells, plot] for cells, plot in zip(self._cells(), plots, strict=True)]
        return f"{text_table([*_HEAD, 'error'], rows, right=_RIGHT)}\n\n{self._whole()}"

    def _cells(self) -> list[list[str]]:
        return [
            [
                str(rank),
                row.name,
                row.operator,
                row.how,
                f"{row.weights:,}",
                decibels(row.own.snr_db),
                decibels(row.result.snr_db),
            ]
            for rank, row in enumerate(self.layers, 1)
        ]

    def _whole(self) -> str:
        return f"All layers quantized: {decibels(self.whole.snr_db)} dB over {self.items} inputs."

    def to_dict(self) -> JsonObject:
        """Returns plain data for JSON."""
        return {
            "items": self.items,
            "whole": self.whole.to_dict(),
            "layers": [row.to_dict() for row in self.layers],
        }

    def svg(self) -> str:
        """Returns an SVG chart: the signal-to-noise ratio of the outputs if only one layer is quantized."""
        return bars(
            [row.name for row in self.layers],
            {
                "outputs, only this layer quantized": [row.result.snr_db for row in self.layers],
                "result of this layer": [row.own.snr_db for row in self.layers],
            },
            "signal to noise, dB: a short bar is a large error",
            line=self.whole.snr_db if math.isfinite(self.whole.snr_db) else None,
        )

    def html(self) -> str:
        """Returns an HTML page without external files, with the chart and the table."""
        return page("Sensitivity to quantization", self.sections())

    def sections(self) -> Sections:
        """Returns the sections of the HTML page."""
        return [
            ("Error of the outputs with one layer quantized", f"<p>{self._whole()}</p>{self.svg()}"),
            ("", Table(_HEAD, self._cells(), _RIGHT)),
        ]


_HEAD = ["", "layer", "operator", "quantized", "weights", "own dB", "result dB"]
_RIGHT = {0, 4, 5, 6}


def _noise(found: Difference) -> float:
    """The amplitude of the error, relative to the amplitude of the signal."""
    if math.isinf(found.snr_db):
        return 0.0 if found.snr_db > 0 else 1.0
    return float(10 ** (-found.snr_db / 20))


def sensitivity(
    model: torch.nn.Module | ExportedProgram,
    example_inputs: Inputs | None,
    quantizer: Quantizer,
    data: Iterable[Inputs],
    *,
    dynamic_shapes: DynamicShapes = None,
    items: int = 8,
) -> Sensitivity:
    """Measures how quantizing each layer alone changes the outputs of the float program.

    Args:
        model: a module, or a program of torch.export.
        example_inputs: the positional inputs of a module; None for a program.
        quantizer: selects the operators that are quantized, and their configurations.
        data: inputs for calibration. The first `items` of them are also measured.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export.
        items: the number of inputs to measure.

    Raises:
        QuantizationError: there are no data, or a step of `quantize` fails.
    """
    inputs = [as_arguments(item) for item in data]
    if not inputs:
        raise QuantizationError("sensitivity: no data was given; pass a few representative inputs")
    program = export_float(model, example_inputs, dynamic_shapes)
    converted = quantized_module(program, quantizer, inputs)
    meters = SensitivityMeters(program, converted)
    for arguments in counted("measure sensitivity", inputs[:items]):
        meters.add(arguments)
    return meters.result()


class SensitivityMeters:
    """Accumulates the errors that quantizing each layer alone causes.

    Args:
        program: the float program.
        converted: its quantized form.
    """

    def __init__(self, program: ExportedProgram, converted: GraphModule) -> None:
        self._pair = Pair(program, converted)
        found = (_Unit.of(nodes, self._pair) for nodes in units_of(converted))
        self._units = [unit for unit in found if unit is not None]
        self._whole = Meter()
        self._items = 0

    def add(self, arguments: tuple[object, ...]) -> None:
        """Measures the layers on one item of data.

        Both programs run once. Then, for each layer, the float program runs again from this layer on, with
        the result of the quantized layer.

        Args:
            arguments: the arguments of the program, with the shapes and dtypes of its inputs.
        """
        pair = self._pair
        floats, values = pair.reference.run(arguments), pair.quantized.run(arguments)
        expected = tensors_of(pair.reference.result(floats))
        _add(self._whole, expected, tensors_of(pair.quantized.result(values)))
        for unit in counted("measure layers", self._units):
            value = pair.own(unit.last, floats, values, unit.nodes)
            _add(unit.own, tensors_of(floats[unit.last.reference]), tensors_of(value))
            changed = pair.reference.again(floats, {unit.last.reference: value})
            _add(unit.result, expected, tensors_of(pair.reference.result(changed)))
        self._items += 1

    def state(self) -> tuple[int, list[Meter]]:
        """Returns the number of items, and the meters in an order that depends only on the program."""
        return self._items, [
            self._whole,
            *(meter for unit in self._units for meter in (unit.own, unit.result)),
        ]

    def absorb(self, state: tuple[int, list[Meter]]) -> None:
        """Adds the state of meters for other items of the same program.

        Args:
            state: the result of `state()` of the other meters.

        Raises:
            ValueError: the number of meters is different, because the state belongs to another program.
        """
        self._items += state[0]
        for mine, other in zip(self.state()[1], state[1], strict=True):
            mine.absorb(other)

    def result(self) -> Sensitivity:
        """Returns the layers, the largest error first."""
        rows = sorted((unit.row() for unit in self._units), key=lambda row: row.result.snr_db)
        return Sensitivity(rows, self._whole.result(), self._items)


def _add(meter: Meter, expected: list[torch.Tensor], actual: list[torch.Tensor]) -> None:
    for a, b in zip(expected, actual, strict=True):
        meter.add(a, b)


class _Unit:
    """The nodes that a quantizer annotated as one unit, and the meters of their errors."""

    def __init__(self, first: Layer, last: Layer, nodes: frozenset[Node]) -> None:
        self.first, self.last, self.nodes = first, last, nodes
        self.own, self.result = Meter(), Meter()

    @classmethod
    def of(cls, nodes: list[Node], pair: Pair) -> _Unit | None:
        first, last = pair.layer_of(nodes[0]), pair.layer_of(nodes[-1])
        if first is None or last is None or first.moves_only:
            return None
        return cls(first, last, frozenset(nodes))

    def row(self) -> LayerSensitivity:
        layer = self.first
        return LayerSensitivity(
            layer.name,
            layer.operator,
            how(layer),
            None if layer.source is None else str(layer.source),
            _weights(layer.reference),
            self.result.result(),
            self.own.result(),
        )


def _weights(node: Node) -> int:
    """The number of weights of an operator.

    A batch norm is folded into the operator before it. The weights of that operator are counted.
    """
    if node.target in BATCH_NORM and isinstance(node.args[0], Node):
        node = node.args[0]
    return sum(
        value.numel()
        for arg in node.all_input_nodes
        if arg.op == "get_attr" and isinstance(value := meta.find_val(arg), torch.Tensor)
    )


@dataclass(frozen=True)
class Hybrid:
    """A quantized program with some layers in float.

    Attributes:
        program: the quantized program.
        left: the names of the layers that stay in float, the most sensitive one first.
        difference: the difference between its outputs and the outputs of the float program.
    """

    program: ExportedProgram
    left: list[str]
    difference: Difference


def hybrid(
    model: torch.nn.Module | ExportedProgram,
    example_inputs: Inputs | None,
    quantizer: Quantizer,
    data: Iterable[Inputs],
    *,
    min_snr_db: float,
    found: Sensitivity | None = None,
    dynamic_shapes: DynamicShapes = None,
    items: int = 8,
) -> Hybrid:
    """Quantizes a model, and keeps the most sensitive layers in float until the outputs reach `min_snr_db`.

    The smallest sufficient number of layers is found by bisection. Each step quantizes the model again.

    Args:
        model: a module, or a program of torch.export.
        example_inputs: the positional inputs of a module; None for a program.
        quantizer: selects the operators that are quantized, and their configurations.
        data: inputs for calibration. The first `items` of them are also measured.
        min_snr_db: the required signal-to-noise ratio of the outputs, in dB.
        found: the result of `sensitivity`; None measures it.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export.
        items: the number of inputs to measure.

    Raises:
        QuantizationError: the outputs do not reach `min_snr_db` even if only one layer is quantized.
    """
    inputs = [as_arguments(item) for item in data]
    program = export_float(model, example_inputs, dynamic_shapes)
    if found is None:
        found = sensitivity(program, None, quantizer, inputs, items=items)

    def attempt(count: int) -> Hybrid:
        left = found.worst(count)
        chosen = ExcludeFromQuantization(quantizer, left) if left else quantizer
        made = quantize(program, None, chosen, inputs, dynamic_shapes=dynamic_shapes)
        reference, quantized = program.module(), made.module()
        with torch.no_grad():
            results = [(reference(*x), quantized(*x)) for x in inputs[:items]]
        return Hybrid(
            made, left, difference([float_ for float_, _ in results], [ours for _, ours in results])
        )

    best = attempt(0)
    if best.difference.snr_db >= min_snr_db:
        return best
    low, high = 0, len(found.layers) - 1
    best = attempt(high)
    if best.difference.snr_db < min_snr_db:
        raise QuantizationError(
            f"with all layers but {found.layers[-1].name} in float, the outputs are "
            f"{decibels(best.difference.snr_db)} dB above their error, not {min_snr_db:g}; reduce "
            "min_snr_db, or use a configuration with more bits"
        )
    while high - low > 1:
        middle = (low + high) // 2
        tried = attempt(middle)
        if tried.difference.snr_db >= min_snr_db:
            best, high = tried, middle
        else:
            low = middle
    return best
