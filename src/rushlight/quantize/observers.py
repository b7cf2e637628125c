"""torchao's observers, which here refuse bad data, and two that pt2e lacks: weights by group, tokens."""

from __future__ import annotations

import math
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
    HistogramObserver,
    MappingType,
    MinMaxObserver,
    PerChannelMinMaxObserver,
    PerGroup,
    PerToken,
)
from torchao.quantization.pt2e.utils import create_getattr_from_value

from rushlight.quantize.errors import QuantizationError

qd = torch.ops.quantized_decomposed


_data_is_required = ContextVar("data_is_required", default=False)


@contextmanager
def data_required() -> Iterator[None]:
    """Inside, observers that have seen no data have no parameters either."""
    token = _data_is_required.set(True)
    try:
        yield
    finally:
        _data_is_required.reset(token)


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

        If no data was observed they are 1 and 0, with a warning; within `data_required` QuantizationError is
        raised.
        """
        if not self.seen and _data_is_required.get():
            raise QuantizationError(
                f"calibration: no data was seen{self._where()}; run the prepared model on representative "
                "inputs before converting it"
            )
        return super().calculate_qparams()  # type: ignore[misc]

    def _where(self) -> str:
        return f" at {self.place}" if self.place else ""


class CheckedHistogramObserver(Checked, HistogramObserver):  # type: ignore[misc]
    """The range that loses least of what was seen."""


class CheckedMinMaxObserver(Checked, MinMaxObserver):  # type: ignore[misc]
    """The whole range that was seen."""


class CheckedPerChannelMinMaxObserver(Checked, PerChannelMinMaxObserver):  # type: ignore[misc]
    """The whole range of each channel."""


class CheckedFakeQuantize(Checked, FakeQuantize):  # type: ignore[misc]
    """Rounds in training as the quantized model will; for ranges of each input."""


class CheckedMovingFakeQuantize(Checked, FusedMovingAvgObsFakeQuantize):  # type: ignore[misc]
    """Rounds in training as the quantized model will, by a moving average of ranges."""


class CheckedPerChannelMovingFakeQuantize(CheckedMovingFakeQuantize):
    """The same for each channel."""


class CheckedPerChannelFakeQuantize(CheckedFakeQuantize):
    """The same on any axis; the one above takes axis 0 alone."""


class GroupWeightObserver(AffineQuantizedObserverBase):  # type: ignore[misc]
    """Weights in groups along their last dim, each with a scale, symmetric.

    Converts to `quantized_decomposed.dequantize_per_channel_group` over stored whole numbers. The scale of a
    group is that among a grid below its full range which loses least in squares.
    """

    def __init__(
        self, group_size: int = 32, quant_min: int = -8, quant_max: int = 7, **_ignored: Any
    ) -> None:
        super().__init__(MappingType.SYMMETRIC, torch.int8, PerGroup(group_size), quant_min, quant_max)
        self.group_size = group_size

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return input

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        raise QuantizationError("a weight by groups has its parameters when it is converted")

    def convert(self, model: GraphModule, observer_node: Node) -> None:
        """Puts the stored whole numbers and their dequantization in place of the observer."""
        source = observer_node.args[0]
        assert isinstance(source, Node)
        if source.op != "get_attr":
            raise QuantizationError(f"{source.name} is no stored weight, so it cannot be quantized by groups")
        weight = operator.attrgetter(str(source.target))(model).detach()
        group = group_for(self.group_size, weight.shape[-1])
        q, scales = quantize_groups(weight, group, self.quant_min, self.quant_max)
        graph = model.graph
        with graph.inserting_before(observer_node):
            stored = [
                create_getattr_from_value(model, graph, name, value, value.device)
                for name, value in (
                    ("_group_weight", q),
                    ("_group_scales", scales),
                    ("_group_zero_points", torch.zeros_like(scales, dtype=torch.int32)),
                )
            ]
            real = graph.call_function(
                qd.dequantize_per_channel_group.default,
                (*stored, self.quant_min, self.quant_max, torch.int8, group, weight.dtype),
            )
        real.meta.update(observer_node.meta)
        observer_node.replace_all_uses_with(real)
        graph.erase_node(observer_node)
        if not source.users:
            graph.erase_node(source)


def group_for(group_size: int, columns: int) -> int:
    """The size of groups that divides a row: `group_size`, a divisor of both from 8 up, or the whole row."""
    common = math.gcd(group_size, columns)
    return common if common >= 8 else columns


def quantize_groups(
    weight: torch.Tensor, group: int, low: int, high: int, candidates: int = 24
) -> tuple[torch.Tensor, torch.Tensor]:
    """int8 [R, C] in low .. high, and float32 scales [R, C / group]; weight [R, C] is about their product."""
    rows = weight.to(torch.float32).reshape(weight.shape[0], -1, group)
    peak = rows.abs().amax(-1, keepdim=True).clamp_min(1e-12)
    best = torch.full_like(peak, math.inf)
    scales = peak / high
    for step in range(candidates):
        scale = peak / (high + 0.5) * (1.05 - 0.4 * step / candidates)
        rounded = torch.clamp(torch.round(rows / scale), low, high) * scale
        error = (rounded - rows).square().sum(-1, keepdim=True)
        scales = torch.where(error < best, scale, scales)
        best = torch.minimum(error, best)
    q = torch.clamp(torch.round(rows / scales), low, high).to(torch.int8)
    return q.reshape(weight.shape).contiguous(), scales.squeeze(-1).contiguous()


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
