"""torchao's observers, which here refuse bad data, and one that pt2e lacks: the range of each token."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import (
    AffineQuantizedObserverBase,
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    MappingType,
    MinMaxObserver,
    PerChannelMinMaxObserver,
    PerToken,
)

from rushlight.quantize.errors import QuantizationError
from rushlight.quantize.histogram import HistogramObserver

qd = torch.ops.quantized_decomposed


_is_strict = ContextVar("is_strict", default=False)


def is_strict() -> bool:
    """Whether what cannot be meant is refused, as in this package's own flow, or only warned of."""
    return _is_strict.get()


@contextmanager
def strict() -> Iterator[None]:
    """Inside, a quantizer that finds nothing and an observer that has seen no data are errors."""
    token = _is_strict.set(True)
    try:
        yield
    finally:
        _is_strict.reset(token)


class Checked:
    """Mixed in front of an observer: refuses NaN and infinity, and parameters without data.

    `place` names what is observed, once `rushlight.quantize` has prepared the model.
    """

    place: str = ""
    seen: int = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Observes x. Raises QuantizationError if it holds NaN or infinity."""
        finite = torch.isfinite(x)
        if not bool(finite.all()):
            bad = "NaN" if bool(torch.isnan(x).any()) else "infinity"
            raise QuantizationError(
                f"calibration: {int((~finite).sum())} of {x.numel()} values{self._where()} are not finite "
                f"({bad}), in a tensor of shape {tuple(x.shape)}; remove such data, or leave this layer "
                "in float"
            )
        self.seen += x.numel()
        result: torch.Tensor = super().forward(x)  # type: ignore[misc]
        return result

    def calculate_qparams(self) -> Any:
        """The scale and zero point.

        If no data was observed they are 1 and 0, with a warning; within `strict` QuantizationError is
        raised.
        """
        if not self.seen and _is_strict.get():
            raise QuantizationError(
                f"calibration: no data was seen{self._where()}; run the prepared model on representative "
                "inputs before converting it"
            )
        return super().calculate_qparams()  # type: ignore[misc]

    def _where(self) -> str:
        return f" at {self.place}" if self.place else ""


class CheckedHistogramObserver(Checked, HistogramObserver):
    """The range that loses least of what was seen."""


class CheckedMinMaxObserver(Checked, MinMaxObserver):  # type: ignore[misc]
    """The whole range that was seen."""


class CheckedPerChannelMinMaxObserver(Checked, PerChannelMinMaxObserver):  # type: ignore[misc]
    """The whole range of each channel."""


class SmallSumsPerChannelMinMaxObserver(CheckedPerChannelMinMaxObserver):
    """The whole range of each channel of a weight, and of the sums of neighbours along its input.

    So the products with four neighbours add up to 16 bits where processors without 8-bit dot products take
    two or four at once: for bell-shaped weights scales grow by up to 1.7, for those with outliers they
    hardly do. Neighbours are, in a column in the order of taps, then channels, two pairs four numbers apart:
    0, 1, 4 and 5, then 2, 3, 6 and 7, and so on; depthwise filters have none.
    """

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        super().forward(x_orig)
        weight = x_orig.detach()
        if self.ch_axis == 0 and weight.numel() and (weight.dim() == 2 or weight.shape[1] > 1):
            columns = weight.movedim(1, -1).flatten(1)
            padded = torch.nn.functional.pad(columns, (0, -columns.shape[1] % 8))
            neighbours = padded.unflatten(1, (-1, 2, 2, 2)).transpose(2, 3).flatten(3).flatten(1, 2)
            # 126 steps, and what rounding adds to four numbers, are 128.
            most = torch.stack([neighbours.clamp(max=0), neighbours.clamp(min=0)]).sum(3) * (127 / 126)
            self.min_val.copy_(torch.minimum(self.min_val, most[0].amin(1)))
            self.max_val.copy_(torch.maximum(self.max_val, most[1].amax(1)))
        return x_orig


class CheckedFakeQuantize(Checked, FakeQuantize):  # type: ignore[misc]
    """Rounds in training as the quantized model will; for ranges of each input."""


class CheckedMovingFakeQuantize(Checked, FusedMovingAvgObsFakeQuantize):  # type: ignore[misc]
    """Rounds in training as the quantized model will, by a moving average of ranges."""


class CheckedPerChannelMovingFakeQuantize(CheckedMovingFakeQuantize):
    """The same for each channel."""


class CheckedPerChannelFakeQuantize(CheckedFakeQuantize):
    """The same on any axis; the one above takes axis 0 alone."""


class PerTokenObserver(AffineQuantizedObserverBase):  # type: ignore[misc]
    """int8 by the range of each vector along the last dim, found when the program runs."""

    def __init__(self, **_ignored: Any) -> None:
        super().__init__(MappingType.ASYMMETRIC, torch.int8, PerToken(), -128, 127)
        self.original_dtype: torch.dtype | None = None

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self.original_dtype = input.dtype
        return input

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        raise QuantizationError("ranges of tokens are found when the program runs")

    def convert(self, model: GraphModule, observer_node: Node) -> None:
        """Puts the choice of parameters, quantization and dequantization in place of the observer."""
        graph, source = model.graph, observer_node.args[0]
        with graph.inserting_before(observer_node):
            chosen = graph.call_function(qd.choose_qparams_per_token_asymmetric.default, (source, torch.int8))
            scales = graph.call_function(operator.getitem, (chosen, 0))
            zeros = graph.call_function(operator.getitem, (chosen, 1))
            q = graph.call_function(
                qd.quantize_per_token.default, (source, scales, zeros, -128, 127, torch.int8)
            )
            dtype = self.original_dtype or torch.float32
            real = graph.call_function(
                qd.dequantize_per_token.default, (q, scales, zeros, -128, 127, torch.int8, dtype)
            )
        for node in (chosen, scales, zeros, q, real):
            node.meta.update(observer_node.meta)
        observer_node.replace_all_uses_with(real)
        graph.erase_node(observer_node)
