"""Lowering of programs with quantized tensors: what int8 tensors mean, and steps that stay within int8."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.byte_drafts import ByteProductDraft, GroupedWeight, Meaning
from rushlight.backends.cpu.drafts import Draft
from rushlight.backends.cpu.folding import Constants
from rushlight.backends.cpu.graph import StepKind
from rushlight.backends.cpu.lowering import Lowering, Options
from rushlight.backends.cpu.sizes import Size, product, same
from rushlight.backends.cpu.tensor import Tensor
from rushlight.passes.fuse_static_quantized import clamp_bounds
from rushlight.passes.quantized_nodes import is_op, params_of, qd, quantized

aten = torch.ops.aten

AFFINE, SYMMETRIC, BY_TOKEN = range(3)  # choices of a QUANTIZE_ROWS step


@dataclass(frozen=True)
class Dynamic:
    """How a float tensor is quantized while the plan runs."""

    choice: int
    low: int
    high: int
    eps: float


@dataclass(frozen=True)
class StoredWeight:
    """int8 [outputs, ...] with a scale for each output."""

    numbers: torch.Tensor
    scales: torch.Tensor


@dataclass(frozen=True)
class Wanted:
    """What becomes of a node's result that is read but once: clamped, perhaps moved, then quantized."""

    meaning: Meaning
    clamps: tuple[Node, ...]


class QuantizedLowering(Lowering):
    """The drafts of a part, of whose nodes some stand for reals that are kept as int8.

    meanings: of these nodes; their tensors are of int8. dynamic: nodes that are quantized while the plan
    runs, and read by products alone; their tensors are the floats before.
    """

    def __init__(
        self, options: Options, constants: Mapping[Node, torch.Tensor], known: Constants | None = None
    ) -> None:
        super().__init__(options, constants)
        self.meanings: dict[Node, Meaning] = {}
        self.dynamic: dict[Node, Dynamic] = {}
        self.clamped: set[Node] = set()  # clamps that are part of a step already
        self._known = known
        self._keeps_bytes = False
        self._reals: dict[tuple[Tensor, Meaning], Tensor] = {}
        self._rows: dict[tuple[Tensor, Dynamic], tuple[Tensor, Tensor, Tensor]] = {}
        self._signed: dict[Tensor, Tensor] = {}
        self._bytes_by_data: dict[bytes, Tensor] = {}

    # ---- What nodes stand for ----

    def tensor(self, node: Any) -> Tensor:
        if self._keeps_bytes or not isinstance(node, Node) or node not in self.meanings:
            return super().tensor(node)
        return self._real(super().tensor(node), self.meanings[node], node)

    def raw(self, node: Node) -> Tensor:
        """The tensor of a node as it is kept."""
        return super().tensor(node)

    @contextmanager
    def bytes_kept(self) -> Iterator[None]:
        """Within, `tensor` is `raw`."""
        self._keeps_bytes = True
        try:
            yield
        finally:
            self._keeps_bytes = False

    def mean(self, node: Node, tensor: Tensor, meaning: Meaning) -> None:
        """Sets what a node is and means."""
        self.set(node, tensor)
        self.meanings[node] = meaning

    def sole_writer(self, source: Any, user: Node, corresponds: bool = False) -> Draft | None:
        if isinstance(source, Node) and (source in self.meanings or source in self.dynamic):
            return None
        draft = super().sole_writer(source, user, corresponds)
        return None if draft is None or draft.out.dtype is torch.int8 else draft

    def byte_product_of(self, source: Node, user: Node) -> ByteProductDraft | None:
        """The product whose int8 result `user` alone reads, if that can still be added to something."""
        draft = super().sole_writer(source, user)
        if not isinstance(draft, ByteProductDraft) or draft.is_depthwise or draft.sum is not None:
            return None
        return draft

    def _real(self, tensor: Tensor, meaning: Meaning, node: Node) -> Tensor:
        key = (tensor, meaning)
        if key not in self._reals:
            out = self.new(tensor.sizes, order_of(self, tensor))
            self.emit(_dequantize(tensor, meaning, out), node)
            self._reals[key] = out
        return self._reals[key]

    def real_in(self, out: Tensor, node: Node) -> Draft:
        """A step that makes a node's numbers real in memory of one's own."""
        return _dequantize(self.raw(node), self.meanings[node], out)

    # ---- Steps ----

    def mapped(self, tensor: Tensor, table: torch.Tensor, out: Tensor, node: Node) -> Tensor:
        """`out`, filled with table[number + 128]."""
        by_bits = torch.cat([table[128:], table[:128]]).contiguous()
        data = by_bits.numpy().tobytes()
        entries = self._bytes_by_data.setdefault(data, self.constant(by_bits))
        self.emit(Draft(StepKind.BYTE_MAP, [tensor, entries, out]), node)
        return out

    def signed(self, tensor: Tensor, node: Node) -> Tensor:
        """The numbers of a uint8 tensor less 128, as int8."""
        if tensor.dtype is torch.int8:
            return tensor
        if tensor not in self._signed:
            out = self.new(tensor.sizes, order_of(self, tensor), torch.int8)
            self._signed[tensor] = self.mapped(tensor, _FLIPPED, out, node)
        return self._signed[tensor]

    def unsigned(self, tensor: Tensor, node: Node) -> Tensor:
        """The numbers of an int8 tensor plus 128, as uint8."""
        out = self.new(tensor.sizes, order_of(self, tensor), torch.uint8)
        return self.mapped(tensor, _FLIPPED, out, node)

    def requantized(self, tensor: Tensor, old: Meaning, new: Meaning, out: Tensor, node: Node) -> None:
        """Writes a tensor's reals to `out`, which means `new`."""
        if old.is_as(new) and new.low <= old.low and old.high <= new.high:
            self.copy(tensor, out, node)
        else:
            self.mapped(tensor, new.numbers(old.reals(NUMBERS)), out, node)

    def quantized_rows(self, tensor: Tensor, how: Dynamic, node: Node) -> tuple[Tensor, Tensor, Tensor]:
        """int8 [rows, k], scales and zero points of a tensor [.., k]."""
        rows: tuple[Size, Size] = (product(tensor.sizes[:-1]), tensor.sizes[-1])
        flat = self.contiguous(tensor, node).reshape(rows)
        assert flat is not None
        key = (flat, how)
        if key not in self._rows:
            out = self.new(rows, dtype=torch.int8)
            count: Size = rows[0] if how.choice == BY_TOKEN else 1
            scales, zeros = self.new((count,)), self.new((count,), dtype=torch.int32)
            draft = Draft(
                StepKind.QUANTIZE_ROWS,
                [flat, out, scales, zeros],
                ints=[how.choice, how.low, how.high],
                floats=[how.eps],
            )
            self.emit(draft, node)
            self._rows[key] = (out, scales, zeros)
        return self._rows[key]

    # ---- What the graph says ----

    def weight(self, node: Any) -> StoredWeight | None:
        """The int8 weights by output that a node makes real."""
        return None if self._known is None else stored_weight(node, self._known)

    def grouped(self, node: Any) -> GroupedWeight | None:
        """The matrix of small numbers that a node makes real."""
        return None if self._known is None else grouped_weight(node, self._known)

    def wanted(self, node: Node) -> Wanted | None:
        """How a node's result is quantized, if nothing else is done with it but clamping and moving."""
        clamps: list[Node] = []
        low, high = -float("inf"), float("inf")
        while len(node.users) == 1:
            (user,) = node.users
            params = quantized(user)
            if params is not None:
                return Wanted(Meaning.of(params).clamped(low, high), tuple(clamps))
            bounds = clamp_bounds(user)
            if bounds is not None:
                least = -float("inf") if bounds[0] is None else bounds[0]
                most = float("inf") if bounds[1] is None else bounds[1]
                low, high = min(max(low, least), most), min(max(high, least), most)
                clamps.append(user)
            elif not is_op(user, *MOVES):
                return None
            node = user
        return None


def _dequantize(tensor: Tensor, meaning: Meaning, out: Tensor) -> Draft:
    return Draft(StepKind.DEQUANTIZE, [tensor, out], ints=[meaning.zero], floats=[meaning.scale])


NUMBERS = torch.arange(-128, 128)
_FLIPPED = (NUMBERS ^ -128).to(torch.int8)

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


def stored_weight(node: Any, constants: Constants) -> StoredWeight | None:
    """Weights of int8 with zero points of 0 and one scale, or one for each output."""
    if not isinstance(node, Node) or not node.args or not constants.is_constant(node):
        return None
    params = params_of(node, qd.dequantize_per_tensor.default)
    by_channel = is_op(node, qd.dequantize_per_channel.default)
    if params is None and not by_channel:
        return None
    numbers = constants.value(node.args[0])
    if numbers is None or numbers.dtype is not torch.int8:
        return None
    if params is not None:
        if params.zero_point != 0:
            return None
        return StoredWeight(numbers, torch.full((numbers.shape[0],), params.scale))
    scales, zeros, axis = constants.value(node.args[1]), node.args[2], node.args[3]
    offsets = None if zeros is None else constants.value(zeros)
    if scales is None or axis != 0 or (zeros is not None and (offsets is None or bool(offsets.any()))):
        return None
    return StoredWeight(numbers, scales.float())


def grouped_weight(node: Any, constants: Constants) -> GroupedWeight | None:
    """Matrices of 8- or 4-bit numbers with zero points of 0."""
    if is_op(node, qd.dequantize_per_channel_group.default) and constants.is_constant(node):
        numbers, scales = constants.value(node.args[0]), constants.value(node.args[1])
        zeros = None if node.args[2] is None else constants.value(node.args[2])
        if numbers is None or scales is None or (zeros is not None and bool(zeros.any())):
            return None
        if numbers.dtype is not torch.int8 or numbers.dim() != 2:
            return None
        groups = scales.reshape(numbers.shape[0], -1)
        if numbers.shape[1] % groups.shape[1]:
            return None
        is_small = int(numbers.min()) >= -8 and int(numbers.max()) <= 7
        is_even = numbers.shape[1] // groups.shape[1] % 2 == 0
        return GroupedWeight(numbers, groups, 4 if is_small and is_even else 8)
    stored = stored_weight(node, constants)
    if stored is None or stored.numbers.dim() != 2:
        return None
    return GroupedWeight(stored.numbers, stored.scales[:, None], 8)


def unturned(node: Any) -> Any:
    """The node whose transpose a node of two dimensions is, None if it is something else."""
    if not is_op(node, aten.permute_copy.default, aten.transpose_copy.int, aten.t_copy.default):
        return None
    if is_op(node, aten.permute_copy.default) and list(node.args[1]) != [1, 0]:
        return None
    return node.args[0]


def product_parts(node: Node) -> tuple[Any, Any, Any] | None:
    """(input [.., k], weight [n, k], bias or None) if a node is a product with a matrix."""
    if is_op(node, aten.linear.default):
        return node.args[0], node.args[1], node.args[2] if len(node.args) > 2 else node.kwargs.get("bias")
    if is_op(node, aten.addmm.default) and not node.kwargs:
        weight = unturned(node.args[2])
        return None if weight is None else (node.args[1], weight, node.args[0])
    if is_op(node, aten.mm.default, aten.matmul.default):
        weight = unturned(node.args[1])
        return None if weight is None else (node.args[0], weight, None)
    return None
