"""Patterns of operators that a quantizer may quantize, and their matches in a graph."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import FixedQParamsQuantizationSpec

from rushlight.ir import meta

aten = torch.ops.aten


class Kind(enum.Enum):
    """Which values of an operator are quantized."""

    WEIGHTED = "input, weight and output"
    BINARY = "two inputs and output"
    UNARY = "input and output"
    SHARED = "input and output, with the same parameters"
    CONCAT = "all inputs and output, with the same parameters"
    TABLE = "only the weight"
    RECURRENT = "only the matrices among the weights"


@dataclass(frozen=True)
class Pattern:
    """Operators that are quantized in one way, and the operators that fuse with them.

    Attributes:
        name: the name for messages.
        targets: the operators.
        kind: which of their values are quantized.
        activations: the activation functions that may follow and fuse.
        static: whether static configurations apply.
        dynamic: whether dynamic configurations apply.
        weight_only: whether weight-only configurations apply.
        weight_axis: the axis of the output channels in the weight.
        always: also quantize the operator after an operator in float. If False, operators of the kinds UNARY,
            SHARED and CONCAT are quantized only after quantized operators.
        named: quantize the operator only if `set_operator_type` has its type.
        output: the fixed parameters of the output, for operators with a known range.
        accept: a further condition. Its arguments are the operator, and whether the configuration is dynamic.
    """

    name: str
    targets: frozenset[OpOverload]
    kind: Kind
    activations: frozenset[OpOverload] = frozenset()
    static: bool = True
    dynamic: bool = False
    weight_only: bool = False
    weight_axis: int = 0
    always: bool = True
    named: bool = False
    output: FixedQParamsQuantizationSpec | None = None
    accept: Callable[[Node, bool], bool] = field(default=lambda node, dynamic: True)


RELU = frozenset({aten.relu.default, aten.relu_.default})
CLAMP = RELU | {
    aten.hardtanh.default,
    aten.hardtanh_.default,
    aten.relu6.default,
    aten.relu6_.default,
    aten.clamp.default,
    aten.clamp_.default,
}
LINEAR = frozenset({aten.linear.default})
CONV = frozenset(
    {
        aten.conv1d.default,
        aten.conv1d.padding,
        aten.conv2d.default,
        aten.conv2d.padding,
        aten.convolution.default,
    }
)
CONV_TRANSPOSE = frozenset({aten.conv_transpose1d.default, aten.conv_transpose2d.input})
RECURRENT = frozenset({aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input})
ADD = frozenset({aten.add.Tensor, aten.add_.Tensor})
MUL = frozenset({aten.mul.Tensor, aten.mul_.Tensor})
CAT = frozenset({aten.cat.default})
EMBEDDING = frozenset({aten.embedding.default})
SOFTMAX = frozenset({aten.softmax.int, aten._softmax.default})
# The range from 0 to 1, for the output of softmax.
PROBABILITIES = FixedQParamsQuantizationSpec(
    dtype=torch.int8, scale=1 / 256, zero_point=-128, quant_min=-128, quant_max=127
)
BATCH_NORM = frozenset(
    {aten.batch_norm.default, aten._native_batch_norm_legit.default, aten.cudnn_batch_norm.default}
)

# Operators whose result consists of values of the input.
MOVEMENT = frozenset(
    {
        aten.view.default,
        aten.view_copy.default,
        aten.reshape.default,
        aten.flatten.using_ints,
        aten.unflatten.int,
        aten.permute.default,
        aten.permute_copy.default,
        aten.transpose.int,
        aten.squeeze.dim,
        aten.squeeze.dims,
        aten.squeeze_copy.dim,
        aten.unsqueeze.default,
        aten.slice.Tensor,
        aten.slice_copy.Tensor,
        aten.select.int,
        aten.contiguous.default,
        aten.clone.default,
        aten.dropout.default,
        aten.dropout_.default,
        aten.max_pool2d.default,
        aten.pixel_shuffle.default,
        aten.pixel_unshuffle.default,
        aten.channel_shuffle.default,
    }
)
MEANS = frozenset({aten.mean.default, aten.mean.dim, aten.adaptive_avg_pool2d.default})


@dataclass
class Match:
    """A match of a pattern in a graph.

    Attributes:
        pattern: the pattern.
        anchor: the operator.
        output: the last operator that fuses with `anchor`, or `anchor` itself.
        between: the nodes between both.
    """

    pattern: Pattern
    anchor: Node
    output: Node
    between: tuple[Node, ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of the match."""
        return (self.anchor, *self.between, *(() if self.output is self.anchor else (self.output,)))


def find_match(anchor: Node, pattern: Pattern, batch_norm: bool) -> Match:
    """Returns the match that begins at `anchor`.

    The match has one activation function if it can fuse. If `batch_norm`, it may also have a batch norm.
    """
    chain = [anchor]
    if batch_norm and pattern.kind is Kind.WEIGHTED:
        _extend(chain, BATCH_NORM)
    _extend(chain, pattern.activations)
    return Match(pattern, anchor, chain[-1], tuple(chain[1:-1]))


def _extend(chain: list[Node], targets: frozenset[object]) -> None:
    """Adds the only user of the last node if it is one of `targets`."""
    users = [user for user in chain[-1].users if user.target is not aten.sym_size.int]
    if len(users) == 1 and users[0].target in targets and users[0].args[0] is chain[-1]:
        chain.append(users[0])


def groups_of(conv: Node) -> int:
    """Returns the number of groups of a convolution in the ATen dialect."""
    op = conv.target
    assert isinstance(op, OpOverload)
    for index, argument in enumerate(op._schema.arguments):
        if argument.name == "groups":
            value: Any = conv.args[index] if index < len(conv.args) else conv.kwargs.get("groups", 1)
            return int(value)
    return 1


def recurrent_matrices(node: Node) -> list[Node]:
    """Returns the constant float32 matrices among the weights of a recurrent layer, in their order."""
    lists = [arg for arg in node.args if isinstance(arg, (list, tuple))]
    weights = [item for item in lists[-1] if isinstance(item, Node)] if lists else []
    return [w for w in weights if w.op == "get_attr" and _is_float32_matrix(w)]


def _is_float32_matrix(node: Node) -> bool:
    value = meta.get_tensor(node)
    return value is not None and value.dim() == 2 and value.dtype == torch.float32
