"""Rewriter: the program, the target and the new nodes while quantized operators are fused."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.node import Argument, Target

from rushlight.ir import dim_order_ops, meta
from rushlight.ir.constants import Constants, NewConstants, constant_inputs
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.fake import Evaluator
from rushlight.ir.out_variants import find_out_variant
from rushlight.ir.quantization import QuantizedWeight, quantized_weight
from rushlight.passes.base import insert_call

aten = torch.ops.aten

Available = Callable[[str, str], bool]
"""Returns whether a target has a kernel: (`aten::add.out`, `int8`) -> bool."""

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
"""Operators on one tensor that only move elements. They can therefore run on quantized tensors."""


class Rewriter:
    """A program whose quantized operators are being fused, and the operators that the target supports."""

    def __init__(self, program: ExportedProgram, available: Available) -> None:
        self.program = program
        self.constants = Constants(constant_inputs(program), program.graph)
        self.evaluator = Evaluator.of(program.graph_module)
        self._available = available
        self._added: NewConstants | None = None
        self._packed: dict[object, Node] = {}
        self.changed = False

    def available(self, op: Target, dtype: torch.dtype) -> bool:
        """Returns whether the target has a kernel for the operator and the dtype."""
        target = aten_op(op)
        variant = None if target is None else find_out_variant(target)
        if variant is None:
            return False
        name = f"{variant.op._schema.name}.{variant.op._overloadname}"
        return self._available(name, str(dtype).removeprefix("torch."))

    def call(self, origin: Node, op: Target, args: tuple[Argument, ...], **kwargs: Argument) -> Node:
        """Inserts a call in front of `origin` with the source line of `origin`."""
        assert callable(op), f"{op} is not a function"
        return insert_call(self.evaluator, origin, op, args, **kwargs)

    def replace(self, old: Node, new: Node) -> None:
        """Replaces `old` by `new`. If the strides differ, `new` gets the value metadata of `old`."""
        before, after = meta.get_tensor(old), meta.get_tensor(new)
        if before is not None and after is not None and before.stride() != after.stride():
            meta.set_val(new, before)
        old.replace_all_uses_with(new)
        self.changed = True

    def constant(self, name: str, tensor: torch.Tensor, origin: Node) -> Node:
        """Adds a constant and returns a node that reads it."""
        self._added = self._added or NewConstants(self.program)
        node = self._added.add(name, tensor, self.evaluator.like(tensor), origin)
        self.constants.add(node, tensor)
        return node

    def once(self, key: object, make: Callable[[], Node]) -> Node:
        """Returns the node for `key`. `make` creates the node on the first call."""
        if key not in self._packed:
            self._packed[key] = make()
        return self._packed[key]

    def value(self, node: object) -> torch.Tensor | None:
        """Returns the constant that a node reads; None for other values."""
        return self.constants.value(node)

    def weight(self, node: object) -> QuantizedWeight | None:
        """Returns the stored weight that a node dequantizes; None for any other node."""
        return quantized_weight(node, self.value)

    def scales(self, weight: QuantizedWeight, origin: Node, repeats: int = 1) -> Node:
        """Adds the scales of a weight as a float32 constant.

        Args:
            weight: a stored weight.
            origin: the node that uses the constant.
            repeats: the number of repetitions of the channel scales.

        Returns:
            A node with the shape [1], [repeats * channels] or [channels, groups]. If an 8-bit weight has one
            group, its shape is [channels].
        """
        if not isinstance(weight.scale, torch.Tensor):
            value = torch.tensor([weight.scale], dtype=torch.float32)
            return self.once(("scale", weight.scale), lambda: self.constant("_scale", value, origin))
        node, scale = weight.scale_node, weight.scale
        assert node is not None
        if scale.dim() == 2 and scale.shape[1] == 1 and not weight.is_int4:
            scale = scale[:, 0]
        is_stored = meta.get_dtype(node) == torch.float32 and meta.get_shape(node) == tuple(scale.shape)
        if is_stored and repeats == 1:
            return node
        repeated = scale.repeat(repeats) if repeats > 1 else scale
        return self.once((node, repeats), lambda: self.constant("_scales", repeated, origin))
