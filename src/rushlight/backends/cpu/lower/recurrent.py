"""Lowers LSTM and GRU: one step of a plan computes all time steps of one layer in one direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.lower.nodes import rank_of
from rushlight.backends.cpu.lower.products import product_of, weight_only_product_of
from rushlight.backends.cpu.lower.row import Row
from rushlight.backends.cpu.pack.panels import padded
from rushlight.backends.cpu.plan.int8 import GroupedWeight, WeightOnlyRecurrentLayer
from rushlight.backends.cpu.plan.node import RecurrentLayer
from rushlight.backends.cpu.plan.sizes import Size
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir.constants import Constants

aten = torch.ops.aten

UNITS = 16  # units in a block, whose gates are adjacent: kUnits of runtime/microkernels/tables/f32_packed.h


@dataclass(frozen=True)
class _Layer:
    """The weights of one layer in one direction, [gates * hidden, ..]."""

    weight_ih: torch.Tensor | GroupedWeight
    weight_hh: torch.Tensor | GroupedWeight
    bias_ih: torch.Tensor | None
    bias_hh: torch.Tensor | None

    @property
    def hidden(self) -> int:
        return _columns_of(self.weight_hh)


def _columns_of(weight: torch.Tensor | GroupedWeight) -> int:
    return int((weight.values if isinstance(weight, GroupedWeight) else weight).shape[1])


def _in_blocks(rows: torch.Tensor, gates: int) -> torch.Tensor:
    """Reorders [gates * hidden, ..] to [blocks * gates * UNITS, ..]; missing units are zeros."""
    hidden = rows.shape[0] // gates
    blocks = -(-hidden // UNITS)
    result = torch.zeros(gates, blocks * UNITS, *rows.shape[1:], dtype=rows.dtype)
    result[:, :hidden] = rows.detach().unflatten(0, (gates, hidden))
    return result.view(gates, blocks, UNITS, *rows.shape[1:]).transpose(0, 1).flatten(0, 2)


def _grouped_in_blocks(weight: GroupedWeight, gates: int) -> GroupedWeight:
    return GroupedWeight(_in_blocks(weight.values, gates), _in_blocks(weight.scales, gates), weight.bits)


def _biases(layer: _Layer, is_gru: bool) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Returns the bias of the product with the inputs, and the bias of the product with the state."""
    if layer.bias_ih is None or layer.bias_hh is None:
        return None, None
    if not is_gru:
        return layer.bias_ih.float() + layer.bias_hh.float(), None
    # The reset gate multiplies the last third of the product of the state, and also its bias.
    split = 2 * layer.hidden
    both = layer.bias_ih.float().clone()
    both[:split] += layer.bias_hh[:split]
    rest = torch.zeros_like(layer.bias_hh)
    rest[split:] = layer.bias_hh[split:]
    return both, rest


def recurrent(lowering: Lowering, node: Node) -> None:
    """Lowers LSTM and GRU, one layer and direction at a time.

    One step of the plan multiplies the inputs of all time steps by their weights; a second step computes the
    recurrence.
    """
    is_gru = "gru" in str(node.target)
    arguments: Any = node.args
    source, first, weights, has_biases, layers, _, _, is_bidirectional, batch_first = arguments
    firsts: list[Any] = [first, None] if is_gru else list(first)
    starts = [_start(lowering, item) for item in firsts]
    parameters: list[Any] = [
        lowering.grouped_weight(item) or lowering.constant_value(item) for item in weights
    ]
    directions = 2 if is_bidirectional else 1
    each = 4 if has_biases else 2
    x = lowering.tensor(source)
    if batch_first:
        x = x.permute((1, 0, 2))
    steps, batch = x.sizes[:2]
    hidden = _columns_of(parameters[1])
    count = int(layers) * directions
    last = [lowering.new_tensor((count, batch, hidden)) for _ in range(1 if is_gru else 2)]
    for index in range(count):
        if index % directions == 0:
            inputs = x
            x = _new_output(lowering, steps, batch, directions * hidden, bool(batch_first))
        tensors = parameters[index * each : (index + 1) * each]
        layer = _Layer(*tensors, *[None] * (4 - each))
        begin = [None if start is None else start.select(0, index) for start in starts]
        out = x.narrow(2, index % directions * hidden, hidden)
        ends = [tensor.select(0, index) for tensor in last]
        _direction(lowering, node, layer, inputs, begin, out, ends, index % directions == 1)
    lowering.set_tensors(node, [x.permute((1, 0, 2)) if batch_first else x, *last])


def _new_output(lowering: Lowering, steps: Size, batch: Size, width: int, batch_first: bool) -> Tensor:
    return lowering.new_tensor((steps, batch, width), (1, 0, 2) if batch_first else None)


def _start(lowering: Lowering, node: Any) -> Tensor | None:
    """Returns the initial state; None for zeros."""
    if node is None:
        return None
    start = lowering.tensor(node)
    if start.storage.data is not None and not start.storage.data.any():
        return None
    return lowering.with_innermost(start, -1, node)


def _direction(
    lowering: Lowering,
    node: Node,
    layer: _Layer,
    inputs: Tensor,
    begin: list[Tensor | None],
    out: Tensor,
    ends: list[Tensor],
    is_backward: bool,
) -> None:
    """Emits one direction of one layer.

    Args:
        lowering: the steps emitted so far.
        node: the LSTM or GRU.
        layer: the weights and biases.
        inputs: the inputs of all time steps, [time, batch, k].
        begin: the initial state and the initial cell state, [batch, hidden]; None for zeros.
        out: the states of all time steps, [time, batch, hidden].
        ends: the last state, and the last cell state of an LSTM, [batch, hidden].
        is_backward: whether the layer runs from the last time step to the first.
    """
    is_gru = len(ends) == 1
    gates = 3 if is_gru else 4
    bias, state_bias = (None if b is None else _in_blocks(b.float(), gates) for b in _biases(layer, is_gru))
    # One product for all time steps, with rows in memory order.
    order = (1, 0, 2) if inputs.permute((1, 0, 2)).is_contiguous() else (0, 1, 2)
    flat = inputs.permute(order)
    projected = _product(lowering, node, flat, layer.weight_ih, bias, gates).permute(order)
    operands: dict[str, Any] = {
        "projected": projected,
        "bias": None if state_bias is None else constant(padded(state_bias)),
        "first_state": begin[0],
        "first_cell": begin[1],
        "output": out,
        "last_state": ends[0],
        "last_cell": None if is_gru else ends[1],
        "is_gru": is_gru,
        "hidden": layer.hidden,
        "is_backward": is_backward,
    }
    weight = layer.weight_hh
    if isinstance(weight, GroupedWeight):
        grouped = _grouped_in_blocks(weight, gates)
        lowering.emit(WeightOnlyRecurrentLayer(**operands, weight=grouped.values, grouped=grouped), node)
        return
    stored = lowering.stored_dtype(weight)
    lowering.emit(
        RecurrentLayer(**operands, weight=_in_blocks(weight.float(), gates), weight_dtype=stored), node
    )


def _product(
    lowering: Lowering,
    node: Node,
    x: Tensor,
    weight: torch.Tensor | GroupedWeight,
    bias: torch.Tensor | None,
    gates: int,
) -> Tensor:
    """Emits the product of the inputs with the input weights, and returns it: [.., columns of all gates]."""
    if isinstance(weight, GroupedWeight):
        return weight_only_product_of(lowering, node, x, _grouped_in_blocks(weight, gates), bias)
    stored = lowering.stored_dtype(weight)
    return product_of(lowering, node, x, _in_blocks(weight.float(), gates), bias, stored)


# Checks: each returns the reason why a node is refused, or None.


def check_recurrent(node: Node, constants: Constants) -> str | None:
    """Refuses an unsupported module.

    The weights must be constant, and the input must be a batch [.., .., k]. The module must not be in
    training mode or have projections.
    """
    arguments: Any = node.args
    weights = arguments[2]
    if not all(constants.is_constant(item) for item in weights):
        return "its weights are not constant"
    if arguments[6]:
        return "it is in training mode"
    if len(weights) != (4 if arguments[3] else 2) * int(arguments[4]) * (2 if arguments[7] else 1):
        return "its states are projected"
    return None if rank_of(arguments[0]) == 3 else "its input is not a batch of sequences"


ROWS: dict[object, Row] = {
    aten.lstm.input: Row(check_recurrent, recurrent),
    aten.gru.input: Row(check_recurrent, recurrent),
}
