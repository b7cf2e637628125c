"""Properties of nodes and their tensors, for the support checks and the emitters."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from rushlight.ir import meta
from rushlight.ir.constants import Constants, constants_of_graph
from rushlight.ir.edge_ops import argument, aten_op, is_op
from rushlight.ir.quantization import DEQUANTIZE_WEIGHT, transposed
from rushlight.ir.spec import dim_order_from_strides, is_dense_in
from rushlight.ir.sym import bounds, upper_bound
from rushlight.ir.verifier import stands_for_executorch

MAX_RANK = 6
CHANNELS_LAST = (0, 2, 3, 1)
CAST = "dim_order_ops._to_dim_order_copy.default"
WEIGHT_POSITIONS = {
    torch.ops.aten.linear.default: 1,
    torch.ops.aten.addmm.default: 2,
    torch.ops.aten.mm.default: 1,
}
"""The position of the weight argument of each matrix product."""


class ConfigPrecisionType(enum.Enum):
    """The kind of nodes that a partitioner accepts: float, statically or dynamically quantized."""

    FP32 = 1
    STATIC_QUANT = 2
    DYNAMIC_QUANT = 3


class SupportContext:
    """A program, and the options of the partitioner.

    Args:
        program: the program.
        enable_bf16: whether bfloat16 matrix products are accepted.
        dynamic_weights: whether weights of float matrix products are arguments of the delegate.
    """

    def __init__(
        self, program: ExportedProgram, *, enable_bf16: bool = False, dynamic_weights: bool = False
    ) -> None:
        self.program = program
        self.enable_bf16 = enable_bf16
        self.dynamic_weights = dynamic_weights
        self._constants: dict[Graph, Constants] = {}

    def _constants_of(self, graph: Graph) -> Constants:
        if graph not in self._constants:
            stored = constants_of_graph(self.program, graph)
            # In ExecuTorch's programs, conversions of constants stay outside of delegates.
            folds = None if stands_for_executorch() else _is_dense_cast
            self._constants[graph] = Constants(stored, graph, folds)
        return self._constants[graph]

    def is_constant(self, node: object) -> bool:
        """Returns whether a node is a constant, or converts a constant to another dtype."""
        return isinstance(node, Node) and self._constants_of(node.graph).is_constant(node)

    def is_cast(self, node: Node) -> bool:
        """Returns whether a node converts a constant to another dtype."""
        return node.op == "call_function" and self.is_constant(node)

    def constant(self, node: Node) -> torch.Tensor:
        """Returns the value of a node for which `is_constant` returns True."""
        value = self.constant_value(node)
        assert value is not None
        return value

    def constant_value(self, node: object) -> torch.Tensor | None:
        """Returns the value of a constant; None for any other argument."""
        return self._constants_of(node.graph).value(node) if isinstance(node, Node) else None

    def is_same(self, first: object, second: object) -> bool:
        """Returns whether two arguments are equal, or are constants with equal elements."""
        if first is second or not (isinstance(first, Node) and isinstance(second, Node)):
            return first is second or first == second
        values = self.constant_value(first), self.constant_value(second)
        return values[0] is not None and values[1] is not None and torch.equal(values[0], values[1])

    def is_weight(self, node: object) -> bool:
        """Returns whether the node is a constant, or dequantizes a constant."""
        if not isinstance(node, Node) or self.is_constant(node):
            return isinstance(node, Node)
        return is_op(node, *DEQUANTIZE_WEIGHT) and self.is_constant(node.args[0])

    @property
    def dtypes(self) -> set[torch.dtype]:
        """The float dtypes of nodes that the partitioner accepts."""
        floats = {torch.float32, torch.float16}
        return floats | {torch.bfloat16} if self.enable_bf16 else floats


def _is_dense_cast(node: Node) -> bool:
    """Returns whether a node converts a tensor to another dtype, with a contiguous result."""
    result = tensor_of(node)
    return str(aten_op(node.target)) == CAST and result is not None and result.is_contiguous()


def operation(node: Node) -> Any:
    """Returns the table key of a node: its ATen operator, or the name of a dim order operator."""
    op = aten_op(node.target) or node.target
    name = str(op)
    return name if name.startswith("dim_order_ops.") else op


def tensor_of(node: object) -> torch.Tensor | None:
    """Returns the fake tensor of an argument; None if it is not a node or has several results."""
    return meta.get_tensor(node) if isinstance(node, Node) else None


def rank_of(node: object) -> int:
    """Returns the number of dimensions of an argument's tensor; -1 for any other value."""
    tensor = tensor_of(node)
    return -1 if tensor is None else tensor.dim()


def upper_dims(tensor: torch.Tensor) -> list[int]:
    """Returns the sizes or their upper bounds; 0 for an unbounded size; [1] for a scalar."""
    return [upper_bound(size) or 0 for size in tensor.shape] or [1]


def is_static(tensor: torch.Tensor) -> bool:
    """Returns whether all sizes of a tensor are integers."""
    return all(isinstance(size, int) for size in tensor.shape)


def is_channels_last(tensor: torch.Tensor) -> bool:
    """Returns whether the memory of an image is [n, h, w, c], according to its dim order in the program file.

    The executor also uses this dim order, which is necessary if sizes of 1 make both layouts possible.
    """
    return (
        tensor.dim() == 4
        and dim_order_from_strides(tensor.stride()) == CHANNELS_LAST
        and is_dense_in(tensor, CHANNELS_LAST)
    )


def is_dense(tensor: torch.Tensor) -> bool:
    """Returns whether XNNPACK can read the memory layout: contiguous or channels last."""
    return is_channels_last(tensor) or is_dense_in(tensor, range(tensor.dim()))


def dynamic_axes(tensor: torch.Tensor) -> list[int]:
    """Returns the axes with dynamic sizes."""
    return [axis for axis, size in enumerate(tensor.shape) if not isinstance(size, int)]


def lower_dims(tensor: torch.Tensor) -> list[int]:
    """Returns the lower bounds of the sizes; 0 for a size without a lower bound."""
    return [max(bounds(size)[0], 0) for size in tensor.shape]


def pair(value: Any, default: Sequence[int] = (1, 1)) -> tuple[int, int]:
    """Returns an argument as (height, width). A single number is used for both.

    Args:
        value: the argument.
        default: the result if the argument is None or empty.
    """
    if value is None or value == []:
        return int(default[0]), int(default[1])
    if isinstance(value, int):
        return value, value
    return (int(value[0]), int(value[-1])) if len(value) <= 2 else (int(value[-2]), int(value[-1]))


def is_row(node: object, context: SupportContext) -> bool:
    """Returns whether a node is a constant of shape [1, n], which can be used as a bias like [n]."""
    tensor = tensor_of(node)
    return tensor is not None and tensor.dim() == 2 and tensor.shape[0] == 1 and context.is_constant(node)


def transposed_constant(context: SupportContext, node: object) -> Node | None:
    """Returns the constant matrix, or its dequantize node, that `node` transposes; None for other nodes."""
    matrix = transposed(node)
    return matrix if context.is_weight(matrix) else None


def is_weight_alone(node: Node, user: Node) -> bool:
    """Returns whether `user` is a product that reads the node only as its weight."""
    position = WEIGHT_POSITIONS.get(operation(user))
    return position is not None and [i for i, arg in enumerate(user.args) if arg is node] == [position]


def folded_padding(conv: Node) -> tuple[Node, tuple[int, int, int, int]] | None:
    """Finds zero padding of the input of a convolution that can be fused into the convolution.

    Returns:
        The padding node, which has no other user, and its padding (top, right, bottom, left). For a 1-d
        convolution, the padding at the start and end is top and bottom. The result is None if there is no
        such padding.
    """
    if conv.op != "call_function" or operation(conv) is not torch.ops.aten.convolution.default:
        return None
    pad, is_transposed = conv.args[0], bool(conv.args[6])
    if is_transposed or not is_op(pad, torch.ops.aten.constant_pad_nd.default) or len(pad.users) != 1:
        return None
    sizes = [int(size) for size in pad.args[1]]  # type: ignore[union-attr, arg-type]
    spatial = rank_of(conv) - 2
    if argument(pad, 2, 0) != 0 or min(sizes, default=0) < 0 or any(sizes[2 * spatial :]):
        return None
    sizes = sizes[: 2 * spatial] + [0] * (2 * spatial - len(sizes))
    if spatial == 1:
        return pad, (sizes[0], 0, sizes[1], 0)
    return (pad, (sizes[2], sizes[1], sizes[3], sizes[0])) if spatial == 2 else None
