"""Lowering of programs with quantized tensors: how tensors are quantized, and steps that stay within int8."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.options import Options
from rushlight.backends.cpu.plan.int8 import GroupedWeight, Int8Convolution
from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.sizes import Size, product, same
from rushlight.backends.cpu.plan.tables import Dequantize, DynamicQuantize, Int8Lookup, QuantizationChoice
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import is_op
from rushlight.ir.quantization import (
    DynamicParams,
    DynamicScheme,
    QuantParams,
    clamp_bounds,
    quantize_params,
    quantized_weight,
)

aten = torch.ops.aten

SCHEMES = {
    DynamicScheme.AFFINE: QuantizationChoice.ASYMMETRIC,
    DynamicScheme.SYMMETRIC: QuantizationChoice.SYMMETRIC,
    DynamicScheme.PER_TOKEN: QuantizationChoice.PER_TOKEN,
}
"""The schemes as operations name them."""


@dataclass(frozen=True)
class StoredWeight:
    """int8 [outputs, ...] with a scale for each output."""

    values: torch.Tensor
    scales: torch.Tensor


@dataclass(frozen=True)
class Wanted:
    """What becomes of a node's result that is read but once: clamped, perhaps moved, then quantized.

    nodes: the clamps, and the quantization, that a step computes whose result is moved by nothing.
    """

    params: QuantParams
    clamps: tuple[Node, ...]
    nodes: tuple[Node, ...]


class QuantizedLowering(Lowering):
    """The steps of a part some of whose values are kept as int8.

    quant_params: of nodes whose float results are kept as int8 tensors. dynamic: nodes that are quantized
    while the plan runs, and read by products alone; their tensors are the floats before.
    """

    def __init__(
        self, options: Options, constants: Mapping[Node, torch.Tensor], known: Constants | None = None
    ) -> None:
        super().__init__(options, constants)
        self.quant_params: dict[Node, QuantParams] = {}
        self.dynamic: dict[Node, DynamicParams] = {}
        self.clamped: set[Node] = set()  # clamps that are part of a step already
        self._known = known
        self._keeps_int8 = False
        self._dequantized: dict[tuple[Tensor, QuantParams], Tensor] = {}
        self._rows: dict[tuple[Tensor, DynamicParams], tuple[Tensor, Tensor, Tensor]] = {}
        self._signed: dict[Tensor, Tensor] = {}
        self._entries_by_data: dict[bytes, Tensor] = {}

    # ---- What nodes stand for ----

    def tensor(self, node: object) -> Tensor:
        """The tensor of a node, in float32 except within `int8_kept`; one step dequantizes an int8 tensor."""
        if self._keeps_int8 or not isinstance(node, Node) or node not in self.quant_params:
            return super().tensor(node)
        return self._dequantize(super().tensor(node), self.quant_params[node], node)

    def raw(self, node: Node) -> Tensor:
        """The tensor of a node as it is kept."""
        return super().tensor(node)

    @contextmanager
    def int8_kept(self) -> Iterator[None]:
        """Within, `tensor` is `raw`."""
        self._keeps_int8 = True
        try:
            yield
        finally:
            self._keeps_int8 = False

    def set_quantized(self, node: Node, tensor: Tensor, params: QuantParams) -> None:
        """Sets the int8 tensor that a node stands for, and how it is quantized."""
        self.set(node, tensor)
        self.quant_params[node] = params

    def sole_writer(self, source: object, user: Node, corresponds: bool = False) -> PlanNode | None:
        """The step that may be fused with `user`; None if its result is an int8 tensor."""
        if isinstance(source, Node) and (source in self.quant_params or source in self.dynamic):
            return None
        step = super().sole_writer(source, user, corresponds)
        return None if step is None or step.output.dtype is torch.int8 else step

    def int8_product_of(self, source: Node, user: Node) -> tuple[PlanNode, Int8Convolution] | None:
        """The product whose int8 result `user` alone reads, if that can still be added to something."""
        step = super().sole_writer(source, user)
        product = None if step is None else step.of(Int8Convolution)
        if step is None or product is None or product.is_depthwise or product.sum is not None:
            return None
        return step, product

    def _dequantize(self, tensor: Tensor, params: QuantParams, node: Node) -> Tensor:
        key = (tensor, params)
        if key not in self._dequantized:
            out = self.new(tensor.sizes, order_of(self, tensor))
            self.emit(_dequantize(tensor, params, out), node)
            self._dequantized[key] = out
        return self._dequantized[key]

    def dequantize_into(self, out: Tensor, node: Node) -> Dequantize[Tensor]:
        """An operation that dequantizes what a node stands for into a tensor."""
        return _dequantize(self.raw(node), self.quant_params[node], out)

    # ---- Steps ----

    def mapped(self, tensor: Tensor, table: torch.Tensor, out: Tensor, node: Node) -> Tensor:
        """`out`, filled with table[value + 128]."""
        by_bits = torch.cat([table[128:], table[:128]]).contiguous()
        data = by_bits.numpy().tobytes()
        entries = self._entries_by_data.setdefault(data, constant(by_bits))
        self.emit(Int8Lookup(input=tensor, entries=entries, output=out), node)
        return out

    def signed(self, tensor: Tensor, node: Node) -> Tensor:
        """The values of a uint8 tensor less 128, as int8."""
        if tensor.dtype is torch.int8:
            return tensor
        if tensor not in self._signed:
            out = self.new(tensor.sizes, order_of(self, tensor), torch.int8)
            self._signed[tensor] = self.mapped(tensor, _FLIPPED, out, node)
        return self._signed[tensor]

    def unsigned(self, tensor: Tensor, node: Node) -> Tensor:
        """The values of an int8 tensor plus 128, as uint8."""
        out = self.new(tensor.sizes, order_of(self, tensor), torch.uint8)
        return self.mapped(tensor, _FLIPPED, out, node)

    def requantized(
        self, tensor: Tensor, old: QuantParams, new: QuantParams, out: Tensor, node: Node
    ) -> None:
        """Writes a tensor that is quantized by `old` to `out`, quantized by `new`."""
        if old.same_mapping(new) and new.quant_min <= old.quant_min and old.quant_max <= new.quant_max:
            self.copy(tensor, out, node)
        else:
            self.mapped(tensor, new.quantize(old.dequantize(INT8_VALUES)), out, node)

    def quantized_rows(self, tensor: Tensor, how: DynamicParams, node: Node) -> tuple[Tensor, Tensor, Tensor]:
        """int8 [rows, k], scales and zero points of a tensor [.., k]."""
        rows: tuple[Size, Size] = (product(tensor.sizes[:-1]), tensor.sizes[-1])
        flat = self.contiguous(tensor, node).reshape(rows)
        assert flat is not None
        key = (flat, how)
        if key not in self._rows:
            out = self.new(rows, dtype=torch.int8)
            count: Size = rows[0] if how.scheme is DynamicScheme.PER_TOKEN else 1
            scales, zeros = self.new((count,)), self.new((count,), dtype=torch.int32)
            step = DynamicQuantize(
                input=flat,
                output=out,
                scale=scales,
                zero_point=zeros,
                choice=SCHEMES[how.scheme],
                low=how.quant_min,
                high=how.quant_max,
                epsilon=how.eps,
            )
            self.emit(step, node)
            self._rows[key] = (out, scales, zeros)
        return self._rows[key]

    # ---- What the graph says ----

    def weight(self, node: object) -> StoredWeight | None:
        """The int8 weights, with a scale for each output, that a node dequantizes."""
        return None if self._known is None else stored_weight(node, self._known)

    def grouped(self, node: object) -> GroupedWeight | None:
        """The int8 or int4 matrix that a node dequantizes."""
        return None if self._known is None else grouped_weight(node, self._known)

    def wanted(self, node: Node) -> Wanted | None:
        """How a node's result is quantized, if nothing else is done with it but clamping and moving."""
        clamps: list[Node] = []
        moved = False
        low, high = -math.inf, math.inf
        while len(node.users) == 1:
            (user,) = node.users
            params = quantize_params(user)
            if params is not None:
                computed = () if moved else (*clamps, user)
                return Wanted(params.as_int8().clamped(low, high), tuple(clamps), computed)
            bounds = clamp_bounds(user)
            if bounds is not None:
                low, high = (min(max(bound, bounds[0]), bounds[1]) for bound in (low, high))
                clamps.append(user)
            elif is_op(user, *MOVES):
                moved = True
            else:
                return None
            node = user
        return None


def _dequantize(tensor: Tensor, params: QuantParams, out: Tensor) -> Dequantize[Tensor]:
    return Dequantize(input=tensor, output=out, scale=params.scale, zero_point=params.zero_point)


INT8_VALUES = torch.arange(-128, 128)
_FLIPPED = (INT8_VALUES ^ -128).to(torch.int8)

MOVES = (
    aten.view_copy.default,
    aten._unsafe_view.default,
    aten.permute_copy.default,
    aten.transpose_copy.int,
    aten.t_copy.default,
    aten.unsqueeze_copy.default,
    aten.squeeze_copy.default,
    aten.squeeze_copy.dim,
    aten.squeeze_copy.dims,
    aten.expand_copy.default,
    aten.slice_copy.Tensor,
    aten.select_copy.int,
    aten.clone.default,
    aten.alias_copy.default,
    torch.ops.dim_order_ops._clone_dim_order.default,
)
"""Operators over one tensor that only say where its elements are."""


def order_of(lowering: Lowering, tensor: Tensor) -> list[int]:
    """The dimensions of a tensor as they lie, outermost first."""
    uppers = [
        (-float("inf") if same(size, 1) else -lowering.symbols.upper(stride), axis)
        for axis, (size, stride) in enumerate(zip(tensor.sizes, tensor.strides, strict=True))
    ]
    return [axis for _, axis in sorted(uppers)]


def stored_weight(node: object, constants: Constants) -> StoredWeight | None:
    """Weights of int8 with zero points of 0 and one scale, or one for each output."""
    weight = quantized_weight(node, constants.value) if constants.is_constant(node) else None
    if weight is None or weight.zero_points is not None or weight.group_size or weight.axis not in (None, 0):
        return None
    values = constants.value(weight.source)
    assert values is not None
    return StoredWeight(values, weight.channel_scales(values.shape[0]))


def grouped_weight(node: object, constants: Constants) -> GroupedWeight | None:
    """Matrices of int8 or int4 with zero points of 0."""
    stored = stored_weight(node, constants)
    if stored is not None:
        return GroupedWeight(stored.values, stored.scales[:, None], 8) if stored.values.dim() == 2 else None
    weight = quantized_weight(node, constants.value) if constants.is_constant(node) else None
    if weight is None or weight.zero_points is not None or not weight.group_size:
        return None
    values = constants.value(weight.source)
    assert values is not None
    is_int4 = int(values.min()) >= -8 and int(values.max()) <= 7 and weight.group_size % 2 == 0
    return GroupedWeight(values, weight.channel_scales(values.shape[0]), 4 if is_int4 else 8)
