"""The results of a comparison as text, plain data and HTML."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from pathlib import Path

from rushlight.ir.json_types import JsonObject
from rushlight.ir.text_table import text_table
from rushlight.quantize.measures import Difference
from rushlight.quantize.tables import Sections, Table, bars, page


@dataclass(frozen=True)
class LayerRow:
    """The differences of one layer of a quantized program.

    Attributes:
        name: the name of the layer, such as `features.2.conv2d_3`.
        operator: the name of the operator.
        how: the dtypes, or "float".
        source: "file:line" in the source code of the model, or None.
        code: the text of this line.
        accumulated: the difference in the quantized program, where all earlier layers are quantized too.
        own: the difference if only this layer is quantized: its inputs are those of the float program.
    """

    name: str
    operator: str
    how: str
    source: str | None
    code: str
    accumulated: Difference
    own: Difference

    def to_dict(self) -> JsonObject:
        """Returns plain data for JSON."""
        return {
            "layer": self.name,
            "operator": self.operator,
            "how": self.how,
            "source": self.source,
            "code": self.code,
            "accumulated": self.accumulated.to_dict(),
            "own": self.own.to_dict(),
        }


@dataclass(frozen=True)
class EndToEnd:
    """The difference of the outputs of one form of the program.

    Attributes:
        name: the form of the program, such as "quantized".
        difference: the difference from the outputs of the float program.
        top1: the fraction of vectors whose largest entry has the same index, or None if the outputs have
            fewer than two entries along the last dimension.
    """

    name: str
    difference: Difference
    top1: float | None

    def to_dict(self) -> JsonObject:
        """Returns plain data for JSON."""
        return {"program": self.name, "top1": self.top1, **self.difference.to_dict()}


@dataclass(frozen=True)
class Report:
    """The result of a comparison of a quantized program with the float program.

    Attributes:
        layers: a row for each compared layer, in execution order.
        results: the outputs of each form of the program, compared with those of the float program.
        items: the number of items of data.
        floor_db: the smallest signal-to-noise ratio in dB that a layer should have.
    """

    layers: list[LayerRow]
    results: list[EndToEnd]
    items: int
    floor_db: float

    @property
    def first_below_floor(self) -> LayerRow | None:
        """The first layer with a signal-to-noise ratio below `floor_db`, or None."""
        return next((row for row in self.layers if row.accumulated.snr_db < self.floor_db), None)

    @property
    def largest_own_error(self) -> LayerRow | None:
        """The layer that adds the largest error, among the layers up to `first_below_floor`.

        The errors of earlier layers may put a layer below the floor that is accurate itself. The own error
        of a layer is its error when only this layer is quantized. None if no layer is below the floor.
        """
        first = self.first_below_floor
        if first is None:
            return None
        candidates = self.layers[: self.layers.index(first) + 1]
        return min(candidates, key=lambda row: row.own.snr_db)

    def summary(self) -> str:
        """Returns a text that names the first layer below the floor and its line in the source code."""
        first, largest = self.first_below_floor, self.largest_own_error
        if first is None or largest is None:
            return f"No layer is below {self.floor_db:g} dB."
        text = (
            f"First layer below {self.floor_db:g} dB: {_where(first)}: "
            f"{decibels(first.accumulated.snr_db)} dB with all layers before it quantized, "
            f"{decibels(first.own.snr_db)} dB with only this layer quantized."
        )
        if first.code:
            text += f"\n    {first.code}"
        if largest is not first:
            text += (
                f"\nOf the layers up to it, {_where(largest)} has the largest error of its own: "
                f"{decibels(largest.own.snr_db)} dB."
            )
        return text

    def text(self) -> str:
        """Returns tables for a terminal."""
        return "\n".join(
            [
                text_table(_LAYER_HEAD, [_layer_cells(row) for row in self.layers], right=_LAYER_RIGHT),
                "",
                text_table(_END_HEAD, [_end_cells(row) for row in self.results], right=_END_RIGHT),
                "",
                self.summary(),
            ]
        )

    def to_dict(self) -> JsonObject:
        """Returns plain data for JSON. Numbers that are not finite are None."""
        first, largest = self.first_below_floor, self.largest_own_error
        return {
            "items": self.items,
            "floor_db": self.floor_db,
            "results": [row.to_dict() for row in self.results],
            "first_below_floor": None if first is None else first.name,
            "largest_own_error": None if largest is None else largest.name,
            "layers": [row.to_dict() for row in self.layers],
        }

    def html(self) -> str:
        """Returns an HTML page without external files."""
        return page("Quantized and float", self.sections())

    def sections(self) -> Sections:
        """Returns the sections of the HTML page."""
        labels = [row.name for row in self.layers]
        chart = bars(
            labels,
            {
                "all layers before it quantized": [row.accumulated.snr_db for row in self.layers],
                "only this layer quantized": [row.own.snr_db for row in self.layers],
            },
            "signal to noise, dB",
            line=self.floor_db,
        )
        return [
            ("Result", f"<pre>{html.escape(self.summary())}</pre>"),
            ("End to end", Table(_END_HEAD, [_end_cells(row) for row in self.results], _END_RIGHT)),
            ("Layers", chart),
            ("", Table(_LAYER_HEAD, [_layer_cells(row) for row in self.layers], _LAYER_RIGHT)),
        ]


_LAYER_HEAD = ["layer", "operator", "quantized", "SNR dB", "cosine", "max error", "own dB", "source"]
_LAYER_RIGHT = {3, 4, 5, 6}
_END_HEAD = ["end to end", "SNR dB", "cosine", "max error", "top-1 equal"]
_END_RIGHT = {1, 2, 3, 4}


def _layer_cells(row: LayerRow) -> list[str]:
    all_before, own = row.accumulated, row.own
    return [
        row.name,
        row.operator,
        row.how,
        decibels(all_before.snr_db),
        f"{all_before.cosine:.5f}",
        f"{all_before.max_error:.3g}",
        decibels(own.snr_db),
        Path(row.source).name if row.source else "",
    ]


def _end_cells(row: EndToEnd) -> list[str]:
    found = row.difference
    return [
        row.name,
        decibels(found.snr_db),
        f"{found.cosine:.5f}",
        f"{found.max_error:.3g}",
        "" if row.top1 is None else f"{row.top1:.1%}",
    ]


def _where(row: LayerRow) -> str:
    return f"{row.name} ({row.operator})" + (f" at {row.source}" if row.source else "")


def decibels(value: float) -> str:
    """Formats a signal-to-noise ratio.

    Args:
        value: the ratio in dB. Infinity means no error. Minus infinity means that the actual value
            has NaN or infinity.

    Returns:
        A text such as "31.4", or "exact" for infinity and "broken" for minus infinity.
    """
    if math.isinf(value):
        return "exact" if value > 0 else "broken"
    return f"{value:.1f}"
