"""Lowering with quantized tensors: records quantization parameters, and emits steps on int8."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering, order_of
from rushlight.backends.cpu.options import Options
from rushlight.backends.cpu.plan.int8 import INT4_BLOCK, GroupedWeight, Int8Convolution
from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.sizes import Size, product
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
    DynamicScheme.PER_TOKEN_SYMMETRIC: QuantizationChoice.PER_TOKEN_SYMMETRIC,
}
"""The name of each quantization scheme in the schema."""


@dataclass(frozen=True)
class Int8Weight:
    """An int8 weight with one scale for each output.

    Attributes:
        values: int8 [outputs, ...].
        scales: [outputs].
    """

    values: torch.Tensor
    scales: torch.Tensor


@dataclass(frozen=True)
class ResultQuantization:
    """The quantization of a result that is only clamped, moved and then quantized.

    Attributes:
        params: the quantization parameters, whose bounds include the clamps.
        clamps: the clamps before the quantize node.
        nodes: the clamps and the quantize node, which the step also computes. Empty if an operator moves the
            result before it is quantized.
    """

    params: QuantParams
    clamps: tuple[Node, ...]
    nodes: tuple[Node, ...]


class QuantizedLowering(Lowering):
    """The lowering of a partition in which some values are stored as int8.

    Args:
        options: the options of the partition.
        constants: the values of the constants that steps or outputs read.
        all_constants: all constants of the partition, including weights before they are dequantized.

    Attributes:
        quant_params: the quantization parameters of nodes whose float32 results are stored as int8.
        dynamic_params: the parameters of nodes that are quantized at run time and that only GEMMs read. The
            tensors of these nodes are the float32 tensors before quantization.
        fused_clamps: the clamps that are already fused into a step.
    """

    def __init__(
        self, options: Options, constants: Mapping[Node, torch.Tensor], all_constants: Constants | None = None
    ) -> None:
        super().__init__(options, constants)
        self.quant_params: dict[Node, QuantParams] = {}
        self.dynamic_params: dict[Node, DynamicParams] = {}
        self.fused_clamps: set[Node] = set()
        self._all_constants = all_constants
        self._keeps_int8 = False
        self._dequantized: dict[tuple[Tensor, QuantParams], Tensor] = {}
        self._quantized_rows: dict[tuple[Tensor, DynamicParams], tuple[Tensor, Tensor, Tensor]] = {}
        self._int8_of_uint8: dict[Tensor, Tensor] = {}
        self._lookup_tables: dict[bytes, Tensor] = {}

    def tensor(self, node: object) -> Tensor:
        """Returns the float32 tensor of a node.

        If the tensor is stored as int8, the first call emits the step that dequantizes it, except in the
        context of `without_dequantization`.
        """
        if self._keeps_int8 or not isinstance(node, Node) or node not in self.quant_params:
            return super().tensor(node)
        return self._dequantize(super().tensor(node), self.quant_params[node], node)

    def stored_tensor(self, node: Node) -> Tensor:
        """Returns the tensor of a node as it is stored: int8 if the node has quantization parameters.

        Unlike `tensor`, it never emits a step that dequantizes.
        """
        return super().tensor(node)

    @contextmanager
    def without_dequantization(self) -> Iterator[None]:
        """Returns a context in which `tensor` does not dequantize: it returns the stored tensor.

        Operators that only move elements (views, permutations) use it: their lowering for float32 tensors
        also works on int8 tensors.
        """
        self._keeps_int8 = True
        try:
            yield
        finally:
            self._keeps_int8 = False

    def set_quantized(self, node: Node, tensor: Tensor, params: QuantParams) -> None:
        """Sets the int8 tensor of a node and its quantization parameters."""
        self.set_tensor(node, tensor)
        self.quant_params[node] = params

    def set_quantized_result(self, node: Node, out: Tensor) -> None:
        """Sets the tensor of a node to `out`, the int8 result of the latest step.

        The latest step then also computes the clamps and the quantize node that `result_quantization` finds.
        """
        quantization = self.result_quantization(node)
        assert quantization is not None
        self.set_quantized(node, out, quantization.params)
        self.fused_clamps.update(quantization.clamps)
        self.steps[-1].nodes += quantization.nodes

    def contiguous_image(self, tensor: Tensor, node: Node) -> Tensor:
        """Returns images [n, c, h, w] or rows [n, c, w] as [n, h, w, c] in row-major memory.

        The images are copied if necessary.
        """
        return self.contiguous(tensor.as_image(), node)

    def sole_writer(self, source: object, user: Node, allows_views: bool = False) -> PlanNode | None:
        """Returns the step that may be fused with `user`; None if the step's result is int8."""
        if isinstance(source, Node) and (source in self.quant_params or source in self.dynamic_params):
            return None
        step = super().sole_writer(source, user, allows_views)
        return None if step is None or step.output.dtype is torch.int8 else step

    def int8_convolution_of(self, source: Node, user: Node) -> tuple[PlanNode, Int8Convolution] | None:
        """Returns the int8 convolution or GEMM whose result only `user` reads, if it can also add a residual.

        Depthwise convolutions cannot add a residual.
        """
        step = super().sole_writer(source, user)
        product = None if step is None else step.of(Int8Convolution)
        if step is None or product is None or product.is_depthwise or product.sum is not None:
            return None
        return step, product

    def _dequantize(self, tensor: Tensor, params: QuantParams, node: Node) -> Tensor:
        key = (tensor, params)
        if key not in self._dequantized:
            out = self.new_tensor(tensor.sizes, order_of(self, tensor))
            self.emit(_dequantize(tensor, params, out), node)
            self._dequantized[key] = out
        return self._dequantized[key]

    def dequantize_into(self, out: Tensor, node: Node) -> Dequantize[Tensor]:
        """Returns the operation that dequantizes the tensor of a node into `out`."""
        return _dequantize(self.stored_tensor(node), self.quant_params[node], out)

    def emit_lookup(self, tensor: Tensor, table: torch.Tensor, out: Tensor, node: Node) -> Tensor:
        """Emits a step that writes table[value + 128] into `out` for each value of `tensor`.

        Args:
            tensor: the int8 input.
            table: the results for the inputs -128 to 127, int8 or uint8 [256].
            out: the output, with the sizes of the input.
            node: the node that the step computes.

        Returns:
            `out`.
        """
        by_bits = torch.cat([table[128:], table[:128]]).contiguous()
        data = by_bits.numpy().tobytes()
        entries = self._lookup_tables.setdefault(data, constant(by_bits))
        self.emit(Int8Lookup(input=tensor, entries=entries, output=out), node)
        return out

    def uint8_as_int8(self, tensor: Tensor, node: Node) -> Tensor:
        """Returns a uint8 tensor minus 128, as int8. An int8 tensor is returned unchanged."""
        if tensor.dtype is torch.int8:
            return tensor
        if tensor not in self._int8_of_uint8:
            out = self.new_tensor(tensor.sizes, order_of(self, tensor), torch.int8)
            self._int8_of_uint8[tensor] = self.emit_lookup(tensor, _FLIPPED, out, node)
        return self._int8_of_uint8[tensor]

    def int8_as_uint8(self, tensor: Tensor, node: Node) -> Tensor:
        """Returns an int8 tensor plus 128, as uint8."""
        out = self.new_tensor(tensor.sizes, order_of(self, tensor), torch.uint8)
        return self.emit_lookup(tensor, _FLIPPED, out, node)

    def emit_requantize(
        self, tensor: Tensor, old: QuantParams, new: QuantParams, out: Tensor, node: Node
    ) -> None:
        """Emits a step that converts an int8 tensor with the parameters `old` to the parameters `new`.

        Args:
            tensor: the input.
            old: the quantization parameters of the input.
            new: the quantization parameters of the output.
            out: the output, with the sizes of the input.
            node: the node that the step computes.
        """
        if new.includes_range_of(old):
            self.emit_copy(tensor, out, node)
        else:
            self.emit_lookup(tensor, new.quantize(old.dequantize(INT8_VALUES)), out, node)

    def quantize_rows(
        self, tensor: Tensor, dynamic: DynamicParams, node: Node
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Emits a step that quantizes a tensor with parameters that it computes from the values at run time.

        Args:
            tensor: the float32 input [..., k].
            dynamic: the rule for the parameters.
            node: the node that the step computes.

        Returns:
            The int8 rows [rows, k], and the scales (float32) and zero points (int32): one for each row if the
            scheme is per token, otherwise one for the whole tensor.
        """
        rows: tuple[Size, Size] = (product(tensor.sizes[:-1]), tensor.sizes[-1])
        flat = self.contiguous(tensor, node).view(rows)
        assert flat is not None
        key = (flat, dynamic)
        if key not in self._quantized_rows:
            out = self.new_tensor(rows, dtype=torch.int8)
            count: Size = rows[0] if dynamic.scheme.is_per_token else 1
            scales, zeros = self.new_tensor((count,)), self.new_tensor((count,), dtype=torch.int32)
            step = DynamicQuantize(
                input=flat,
                output=out,
                scale=scales,
                zero_point=zeros,
                choice=SCHEMES[dynamic.scheme],
                low=dynamic.quant_min,
                high=dynamic.quant_max,
                epsilon=dynamic.eps,
            )
            self.emit(step, node)
            self._quantized_rows[key] = (out, scales, zeros)
        return self._quantized_rows[key]

    def int8_weight(self, node: object, axis: int = 0) -> Int8Weight | None:
        """Returns the int8 weight that a node dequantizes; see `int8_weight`."""
        return None if self._all_constants is None else int8_weight(node, self._all_constants, axis)

    def grouped_weight(self, node: object) -> GroupedWeight | None:
        """Returns the int8 or int4 matrix that a node dequantizes; see `grouped_weight`."""
        return None if self._all_constants is None else grouped_weight(node, self._all_constants)

    def result_quantization(self, node: Node) -> ResultQuantization | None:
        """Returns the quantization of a node's result if it is only clamped and moved before, else None."""
        clamps: list[Node] = []
        moved = False
        low, high = -math.inf, math.inf
        while len(node.users) == 1:
            (user,) = node.users
            params = quantize_params(user)
            if params is not None:
                computed = () if moved else (*clamps, user)
                return ResultQuantization(params.as_int8().clamped(low, high), tuple(clamps), computed)
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
"""Operators with one tensor argument that only move its elements."""

SPLITS = (aten.split_with_sizes_copy.default, aten.split_copy.Tensor, aten.unbind_copy.int)
"""Operators whose results are parts of their tensor argument."""


def int8_weight(node: object, constants: Constants, axis: int = 0) -> Int8Weight | None:
    """Returns the int8 weight that a node dequantizes.

    The result is None if zero points are not 0, or if the scales are neither per tensor nor per output. It is
    also None for the 4-bit numbers of `Int4Linear`, which `grouped_weight` returns.

    Args:
        node: the node.
        constants: the constants of the graph.
        axis: the dimension of the outputs.
    """
    weight = quantized_weight(node, constants.value) if constants.is_constant(node) else None
    if weight is None or weight.zero_points is not None or weight.axis not in (None, axis):
        return None
    values = constants.value(weight.source)
    assert values is not None
    scales = weight.channel_scales(values.shape[axis])
    if weight.group_size:
        if scales.shape[1] > 1 or (weight.is_int4 and weight.group_size % INT4_BLOCK == 0):
            return None
        scales = scales[:, 0]
    return Int8Weight(values, scales)


def grouped_weight(node: object, constants: Constants) -> GroupedWeight | None:
    """Returns the int8 or int4 matrix that a node dequantizes; None if zero points are not 0."""
    stored = int8_weight(node, constants)
    if stored is not None:
        return GroupedWeight(stored.values, stored.scales[:, None], 8) if stored.values.dim() == 2 else None
    weight = quantized_weight(node, constants.value) if constants.is_constant(node) else None
    if weight is None or weight.zero_points is not None or not weight.group_size:
        return None
    values = constants.value(weight.source)
    assert values is not None
    is_int4 = int(values.min()) >= -8 and int(values.max()) <= 7 and weight.group_size % 2 == 0
    return GroupedWeight(values, weight.channel_scales(values.shape[0]), 4 if is_int4 else 8)
