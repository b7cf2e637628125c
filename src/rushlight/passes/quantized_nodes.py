"""Quantize and dequantize operators of an edge graph, read as facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.ir import dim_order_ops, meta
from rushlight.ir.constants import NewConstants, constant_inputs
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.fake import Evaluator
from rushlight.ir.out_variants import find_out_variant
from rushlight.passes.base import insert_call

qd = torch.ops.quantized_decomposed
aten = torch.ops.aten

Available = Callable[[str, str], bool]
"""Whether a target has a kernel: (`aten::add.out`, `int8`) -> bool."""

BYTES = (torch.int8, torch.uint8)

MOVEMENT = frozenset(
    {
        aten.view_copy.default,
        aten.permute_copy.default,
        aten.slice_copy.Tensor,
        aten.select_copy.int,
        aten.squeeze_copy.dim,
        aten.squeeze_copy.dims,
        aten.unsqueeze_copy.default,
        aten.expand_copy.default,
        aten.pixel_shuffle.default,
        aten.pixel_unshuffle.default,
        aten.flip.default,
        aten.index_select.default,
        dim_order_ops.DIM_ORDER_OF_MEMORY_FORMAT[aten.clone.default],
    }
)
"""Operators over one tensor whose results are its elements, whatever they mean."""


@dataclass(frozen=True)
class Params:
    """What the whole numbers of a tensor mean."""

    scale: float
    zero_point: int
    low: int
    high: int
    dtype: torch.dtype

    def whole(self, real: float) -> int:
        """The number that stands for `real`, within the range."""
        return max(self.low, min(self.high, round(real / self.scale) + self.zero_point))


def is_op(node: Any, *targets: Any) -> bool:
    """Whether a node calls one of the operators."""
    return isinstance(node, Node) and node.op == "call_function" and aten_op(node.target) in targets


def params_of(node: Any, target: Any) -> Params | None:
    """The parameters of a per-tensor quantize or dequantize node with plain numbers."""
    if not is_op(node, target) or len(node.args) < 6 or node.kwargs:
        return None
    scale, zero_point, low, high, dtype = node.args[1:6]
    return Params(float(scale), int(zero_point), int(low), int(high), dtype)


def quantized(node: Any) -> Params | None:
    """The parameters if `node` quantizes per tensor to 8 bits."""
    found = params_of(node, qd.quantize_per_tensor.default)
    return found if found is not None and found.dtype in BYTES else None


def dequantized(node: Any) -> Params | None:
    """The parameters if `node` dequantizes per tensor from 8 bits."""
    found = params_of(node, qd.dequantize_per_tensor.default)
    return found if found is not None and found.dtype in BYTES else None


@dataclass(frozen=True)
class Weight:
    """A stored weight of whole numbers.

    node: int8. scales: None for one scale, `scale`, else a node. axis: of the scales [O]; None if they are
    [O] by one or [O, G] by groups. zero_points: None if all are zero. low, high: the range of the numbers.
    """

    node: Node
    scale: float | None
    scales: Node | None
    zero_points: Node | None
    axis: int | None
    low: int
    high: int


class Rewriter:
    """A program whose quantized parts are being fused, and what the target can run."""

    def __init__(self, program: ExportedProgram, available: Available) -> None:
        self.program = program
        self.constants = constant_inputs(program)
        self.evaluator = Evaluator.of(program.graph_module)
        self._available = available
        self._added: NewConstants | None = None
        self._packed: dict[Any, Node] = {}
        self.changed = False

    def available(self, op: Any, dtype: torch.dtype) -> bool:
        """Whether the target runs the operator on the dtype."""
        target = aten_op(op)
        variant = None if target is None else find_out_variant(target)
        if variant is None:
            return False
        name = f"{variant.op._schema.name}.{variant.op._overloadname}"
        return self._available(name, str(dtype).removeprefix("torch."))

    def call(self, origin: Node, op: Any, args: tuple[Any, ...], **kwargs: Any) -> Node:
        """A call in front of `origin`, of its source line."""
        return insert_call(self.evaluator, origin, op, args, **kwargs)

    def replace(self, old: Node, new: Node) -> None:
        """Lets `new` stand for `old`, in the layout that the users of `old` were planned for."""
        before, after = meta.get_tensor(old), meta.get_tensor(new)
        if before is not None and after is not None and before.stride() != after.stride():
            meta.set_val(new, before)
        old.replace_all_uses_with(new)
        self.changed = True

    def constant(self, name: str, tensor: torch.Tensor, origin: Node) -> Node:
        """A node that reads a new constant."""
        self._added = self._added or NewConstants(self.program)
        node = self._added.add(name, tensor, self.evaluator.like(tensor), origin)
        self.constants[node.name] = tensor
        return node

    def once(self, key: Any, make: Callable[[], Node]) -> Node:
        """What `make` gave for this key first."""
        if key not in self._packed:
            self._packed[key] = make()
        return self._packed[key]

    def value(self, node: Any) -> torch.Tensor | None:
        """The constant that a node reads."""
        tensor = self.constants.get(node.name) if isinstance(node, Node) else None
        return None if tensor is None else tensor.detach()

    def weight(self, node: Any) -> Weight | None:
        """The stored weight that a node dequantizes, None if it does something else."""
        stored = self.value(node.args[0]) if isinstance(node, Node) and node.args else None
        if stored is None or stored.dtype != torch.int8:
            return None
        params = params_of(node, qd.dequantize_per_tensor.default)
        if params is not None:
            if params.zero_point != 0:
                return None
            return Weight(node.args[0], params.scale, None, None, None, params.low, params.high)
        if is_op(node, qd.dequantize_per_channel.default):
            scales, zeros, axis, low, high = node.args[1:6]
        elif is_op(node, qd.dequantize_per_channel_group.default):
            scales, zeros, low, high = node.args[1:5]
            axis = None
        else:
            return None
        found = self.value(scales)
        if found is None:
            return None
        given = self.value(zeros) if zeros is not None else None
        if zeros is not None and given is None:
            return None
        zero_points = zeros if given is not None and bool(given.any()) else None
        return Weight(node.args[0], None, scales, zero_points, axis, low, high)

    def scales(self, weight: Weight, origin: Node, groups: int = 1) -> Node:
        """The scales as a float32 constant: [1], [O] or [O, G]; `groups` times one after the other."""
        if weight.scales is None:
            assert weight.scale is not None
            value = torch.tensor([weight.scale], dtype=torch.float32)
            return self.once(("scale", weight.scale), lambda: self.constant("_scale", value, origin))
        stored = self.value(weight.scales)
        assert stored is not None
        if stored.dtype == torch.float32 and groups == 1:
            return weight.scales
        repeated = stored.to(torch.float32).repeat(groups)
        return self.once((weight.scales, groups), lambda: self.constant("_scales", repeated, origin))


def tensor_dtype(node: Any) -> torch.dtype | None:
    """The dtype of a node with one tensor result."""
    val = meta.get_tensor(node) if isinstance(node, Node) else None
    return None if val is None else val.dtype


def shape_of(node: Any) -> tuple[Any, ...]:
    """The sizes of a node with one tensor result."""
    val = meta.get_tensor(node) if isinstance(node, Node) else None
    return () if val is None else tuple(val.shape)


def linear_parts(node: Node) -> tuple[Any, Any, Any] | None:
    """(input [N, I], the node that gives the weight [O, I], bias or None) if `node` is a linear layer."""
    if is_op(node, aten.linear.default):
        return node.args[0], node.args[1], node.args[2] if len(node.args) > 2 else None
    if is_op(node, aten.addmm.default) and not node.kwargs:
        bias, x, turned = node.args[:3]
    elif is_op(node, aten.mm.default):
        (x, turned), bias = node.args[:2], None
    else:
        return None
    if not is_op(turned, aten.permute_copy.default, aten.transpose_copy.int, aten.t_copy.default):
        return None
    assert isinstance(turned, Node)
    if is_op(turned, aten.permute_copy.default) and list(turned.args[1]) != [1, 0]:  # type: ignore[arg-type]
        return None
    if bias is not None and len(shape_of(bias)) != 1:
        return None
    return x, turned.args[0], bias
