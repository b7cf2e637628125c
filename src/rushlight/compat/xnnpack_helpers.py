"""Helper functions of passes and partitioners, as in ExecuTorch's `backends.xnnpack.utils.utils`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from torch.export import ExportedProgram
from torch.fx import Node
from torchao.quantization.pt2e.utils import _is_conv_node, _is_conv_transpose_node

from rushlight.ir import meta
from rushlight.ir.edge_ops import ops

PERM_NCHW_TO_NHWC = [0, 2, 3, 1]
PERM_NHWC_TO_NCHW = [0, 3, 1, 2]


def check_or_raise(condition: bool, err: str) -> None:
    """Raises RuntimeError with the message `err` if the condition is False."""
    if not condition:
        raise RuntimeError(err)


def is_node(node: object) -> TypeGuard[Node]:
    """Returns whether a value is a node of torch.fx."""
    return isinstance(node, Node)


def is_getitem(node: Node) -> bool:
    """Returns whether a node selects one of several results."""
    return node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem"


def get_input_node(node: Node, input_index: int) -> Node:
    """Returns the argument at an index, which must be a node."""
    given: Any = node.args[input_index]
    found: Node = given
    return found


def normalize_mean_dims(mean_dims: Sequence[int] | int | None, rank: int) -> list[int]:
    """Returns the dimensions of a reduction as numbers that are not negative.

    Args:
        mean_dims: the dimensions; None means all.
        rank: the number of dimensions of the tensor.

    Raises:
        ValueError: the rank is not positive, or a dimension is out of range.
    """
    if rank <= 0:
        raise ValueError(f"Expected rank > 0, got {rank}")
    given = range(rank) if mean_dims is None else [mean_dims] if isinstance(mean_dims, int) else mean_dims
    outside = [dim for dim in given if not -rank <= dim < rank]
    if outside:
        raise ValueError(f"Dimension out of range: {outside[0]} for rank {rank}")
    return [dim % rank for dim in given]


def normalize_pool2d_args(
    node: Node, has_dilation: bool
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Returns kernel size, stride, padding and dilation of a pooling node, each for height and width.

    Args:
        node: a call of a pooling operator over two dimensions.
        has_dilation: whether the argument behind the padding is the dilation.
    """

    def pair(index: int, default: list[int]) -> list[int]:
        given: Any = node.args[index] if index < len(node.args) else None
        values = [given] if isinstance(given, int) else list(given or default)
        return [values[0], values[-1]]

    kernel = pair(1, [])
    dilation = pair(4, [1]) if has_dilation else [1, 1]
    return kernel, pair(2, kernel), pair(3, [0]), dilation


def get_relu_fused_node(node: Node) -> Node | None:
    """Returns the only user of a node if it is a ReLU, else None."""
    user = next(iter(node.users), None)
    if len(node.users) != 1 or user is None or user.target is not ops.edge.aten.relu.default:
        return None
    return user


def get_tensor_name(exp_prog: ExportedProgram, node: Node | None) -> str:
    """Returns the qualified name of a node's stored tensor. For other nodes, it returns the target."""
    if node is None:
        return ""
    signature = exp_prog.graph_signature
    tables: tuple[Mapping[str, str], ...] = (
        signature.inputs_to_parameters,
        signature.inputs_to_buffers,
        signature.inputs_to_lifted_tensor_constants,
    )
    for table in tables:
        if node.op == "placeholder" and node.name in table:
            return table[node.name]
    assert isinstance(node.target, str), f"{node.name} is not a stored tensor"
    return node.target


def get_source_fn(node: Node) -> Any:
    """Returns the module class or the function in the model from which a node was made, or None."""
    return meta.source_function_of(node) if node.op == "call_function" else None


def get_groups_from_conv(conv_node: Node) -> int:
    """Returns the number of groups of a torch convolution, computed from the shapes of its operands.

    Raises:
        RuntimeError: the node is not a convolution.
    """
    source, weight = (
        (get_input_node(conv_node, index) for index in (0, 1)) if conv_node.args else (None, None)
    )
    if _is_conv_node(conv_node):
        return int(meta.get_shape(source)[1] // meta.get_shape(weight)[1])
    if _is_conv_transpose_node(conv_node):
        return int(meta.get_shape(conv_node)[1] // meta.get_shape(weight)[1])
    raise RuntimeError(f"expected {conv_node} to be a conv or conv_transpose node")


def is_depthwise_conv(kernel_shape: Sequence[int], groups: int = 1, is_transpose: bool = False) -> bool:
    """Returns whether each group of a convolution has one input channel.

    Args:
        kernel_shape: the shape of the weight: [output channels, input channels of a group, ...], or
            [input channels, output channels of a group, ...] for a transposed convolution.
        groups: the number of groups.
        is_transpose: whether the convolution is transposed.
    """
    if len(kernel_shape) < 2 or groups < 1:
        return False
    inputs = kernel_shape[0] // groups if is_transpose else kernel_shape[1]
    return inputs == 1
