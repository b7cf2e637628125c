"""The observers of torchao with additional checks, and an observer for one range per token."""

from __future__ import annotations

import operator
from collections.abc import Mapping
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
from torchao.quantization.pt2e import HistogramObserver as TorchaoHistogramObserver

from rushlight.ir import meta
from rushlight.quantize.errors import QuantizationError
from rushlight.quantize.histogram import HistogramObserver

qd = torch.ops.quantized_decomposed


class Checked:
    """A mixin for observers that rejects NaN and infinity, and rejects quantization parameters without data.

    Attributes:
        place: the name of the observed value, for messages. `prepare_pt2e` sets it.
        strict: whether parameters without data are an error, or only a warning. `convert_pt2e` sets it.
        seen: the number of observed values.
    """

    place: str = ""
    strict: bool = False
    seen: int = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Observes x.

        Raises:
            QuantizationError: x has NaN or infinity.
        """
        finite = torch.isfinite(x)
        if not bool(finite.all()):
            bad = "NaN" if bool(torch.isnan(x).any()) else "infinity"
            raise QuantizationError(
                f"calibration: {int((~finite).sum())} of {x.numel()} values{self._where()} are not finite "
                f"({bad}), in a tensor of shape {tuple(x.shape)}; remove such data, or keep this layer "
                "in float"
            )
        self.seen += x.numel()
        result: torch.Tensor = super().forward(x)  # type: ignore[misc]
        return result

    def absorb(self, other: Checked) -> None:
        """Adds the statistics of another observer of the same value."""
        self.seen += other.seen
        super().absorb(other)  # type: ignore[misc]

    def calculate_qparams(self) -> Any:
        """Returns the scale and the zero point.

        If the observer has seen no data, it returns 1 and 0 and warns.

        Raises:
            QuantizationError: the observer has seen no data, and it is strict.
        """
        if self.strict and not self.seen:
            raise QuantizationError(
                f"calibration: no data was seen{self._where()}; run the prepared model on representative "
                "inputs before converting it"
            )
        return super().calculate_qparams()  # type: ignore[misc]

    def _where(self) -> str:
        return f" at {self.place}" if self.place else ""


class CheckedHistogramObserver(Checked, HistogramObserver):
    """Chooses the range with the smallest squared error."""


class CheckedTorchaoHistogramObserver(Checked, TorchaoHistogramObserver):  # type: ignore[misc]
    """Chooses the range as torchao's observer does, from a histogram of 2048 bins."""

    def absorb(self, other: Checked) -> None:
        """Adds the histogram of another observer."""
        assert isinstance(other, CheckedTorchaoHistogramObserver)
        self.seen += other.seen
        if not other.histogram.sum():
            return
        if not self.histogram.sum():
            self.load_state_dict(other.state_dict())
            return
        low, high = torch.min(self.min_val, other.min_val), torch.max(self.max_val, other.max_val)
        joined = torch.zeros_like(self.histogram)
        for part in (self, other):
            joined = self._combine_histograms(part.histogram, part.min_val, part.max_val, joined, low, high)
        self.histogram.copy_(joined)
        self.min_val.copy_(low)
        self.max_val.copy_(high)


class _MergeableRange:
    """A mixin that merges the ranges of torchao's observers."""

    min_val: torch.Tensor
    max_val: torch.Tensor

    def absorb(self, other: _MergeableRange) -> None:
        """Extends the range to include the range of another observer."""
        if self.min_val.numel() == 0:
            self.min_val, self.max_val = other.min_val.clone(), other.max_val.clone()
        elif other.min_val.numel():
            self.min_val = torch.minimum(self.min_val, other.min_val)
            self.max_val = torch.maximum(self.max_val, other.max_val)


class CheckedMinMaxObserver(Checked, _MergeableRange, MinMaxObserver):  # type: ignore[misc]
    """Chooses the whole range of the observed values."""


class CheckedPerChannelMinMaxObserver(Checked, _MergeableRange, PerChannelMinMaxObserver):  # type: ignore[misc]
    """Chooses the whole range of each channel."""


class SmallSumsPerChannelMinMaxObserver(CheckedPerChannelMinMaxObserver):
    """Chooses the range of each channel of a weight so that sums of four quantized weights are small.

    Processors without 8-bit dot products multiply pairs of 8-bit numbers and add the products in 16 bits.
    The range therefore covers each channel, and also the sums of the positive and of the negative weights
    among four neighbours along the input. Then four products with activations do not overflow 16 bits. For
    weights with a normal distribution, the scales grow by a factor of up to 1.7; for weights with outliers
    they hardly grow.

    The weights of a channel are ordered by kernel position, then by input channel. The groups of four
    neighbours have the indices (0, 1, 4, 5), (2, 3, 6, 7) and so on. Depthwise filters have no neighbours.
    """

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        """Observes a weight."""
        super().forward(x_orig)
        weight = x_orig.detach()
        if self.ch_axis == 0 and weight.numel() and (weight.dim() == 2 or weight.shape[1] > 1):
            columns = weight.movedim(1, -1).flatten(1)
            padded = torch.nn.functional.pad(columns, (0, -columns.shape[1] % 8))
            neighbours = padded.unflatten(1, (-1, 2, 2, 2)).transpose(2, 3).flatten(3).flatten(1, 2)
            # 126 steps, plus at most 2 for the rounding of four weights, are 128.
            sums = torch.stack([neighbours.clamp(max=0), neighbours.clamp(min=0)]).sum(3) * (127 / 126)
            self.min_val.copy_(torch.minimum(self.min_val, sums[0].amin(1)))
            self.max_val.copy_(torch.maximum(self.max_val, sums[1].amax(1)))
        return x_orig


class CheckedFakeQuantize(Checked, FakeQuantize):  # type: ignore[misc]
    """Simulates the rounding of the quantized model in training, with the range of the current input."""


class CheckedMovingFakeQuantize(Checked, FusedMovingAvgObsFakeQuantize):  # type: ignore[misc]
    """Simulates the rounding of the quantized model in training, with a moving average of ranges."""


class CheckedPerChannelMovingFakeQuantize(CheckedMovingFakeQuantize):
    """Like `CheckedMovingFakeQuantize`, with one moving average for each channel along axis 0."""


class CheckedPerChannelFakeQuantize(CheckedFakeQuantize):
    """Like `CheckedPerChannelMovingFakeQuantize`, with channels along any axis."""


INT8_TENSOR: dict[str, object] = {
    "dtype": torch.int8,
    "quant_min": -128,
    "quant_max": 127,
    "qscheme": torch.per_tensor_affine,
    "ch_axis": None,
    "is_dynamic": False,
}
"""The specification of a tensor that is quantized to int8 with one scale and all integers."""


def check_specification(observer: object, given: Mapping[str, object], **required: object) -> None:
    """Checks the fields of a quantization specification which torchao passes to an observer.

    Args:
        observer: the observer, which the error names.
        given: the fields.
        required: the only value of a field that the observer supports. Fields without a value are accepted.

    Raises:
        QuantizationError: a field has another value, or the observer does not have it.
    """
    unknown = given.keys() - required.keys()
    if unknown:
        raise QuantizationError(f"{type(observer).__name__} has no option {', '.join(sorted(unknown))}")
    for name, value in given.items():
        if value is not None and value != required[name]:
            raise QuantizationError(
                f"{type(observer).__name__} does not support {name}={value!r}; use {required[name]!r}"
            )


class PerTokenObserver(AffineQuantizedObserverBase):  # type: ignore[misc]
    """Quantizes to int8 with one range for each vector along the last dimension.

    The ranges are computed at run time.
    """

    def __init__(self, **specification: object) -> None:
        check_specification(self, specification, **INT8_TENSOR)
        super().__init__(MappingType.ASYMMETRIC, torch.int8, PerToken(), -128, 127)
        self.original_dtype: torch.dtype | None = None

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Returns the value unchanged."""
        self.original_dtype = input.dtype
        return input

    def calculate_qparams(self) -> Any:
        """Raises QuantizationError: the ranges are computed at run time."""
        raise QuantizationError(
            "per-token quantization has no parameters at conversion: the program computes them at run time"
        )

    def convert(self, model: GraphModule, observer_node: Node) -> None:
        """Replaces the observer by operators that compute the parameters, quantize and dequantize."""
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
            meta.add_all(observer_node, node)
        observer_node.replace_all_uses_with(real)
        graph.erase_node(observer_node)
