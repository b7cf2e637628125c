"""Passes that change the dim orders of the inputs and outputs of a graph."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.compat.transforms.channels_last import LAYOUT_PERMUTE_COPY
from rushlight.compat.transforms.rewriting import InPlacePass
from rushlight.compat.xnnpack_helpers import PERM_NCHW_TO_NHWC, PERM_NHWC_TO_NCHW
from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op, ops
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import insert_call

dim_order_ops = torch.ops.dim_order_ops

_CLONE = ops.edge.dim_order_ops._clone_dim_order.default
_COPIES = (dim_order_ops._clone_dim_order.default, dim_order_ops._to_dim_order_copy.default)


def is_row_major(order: object) -> bool:
    """Returns whether a dim order is row-major (0, 1, 2, ...)."""
    return isinstance(order, (list, tuple)) and list(order) == list(range(len(order)))


def is_row_major_image(order: object) -> bool:
    """Returns whether a dim order is the row-major order of four dimensions."""
    return isinstance(order, (list, tuple)) and list(order) == [0, 1, 2, 3]


def is_channels_last_image(order: object) -> bool:
    """Returns whether a dim order is the channels-last order of four dimensions."""
    return isinstance(order, (list, tuple)) and list(order) == [0, 2, 3, 1]


def _is_dense(node: object) -> bool | None:
    """Whether the tensor of a node is contiguous; None if the node has no tensor."""
    tensor = meta.get_tensor(node) if isinstance(node, Node) else None
    return None if tensor is None else tensor.is_contiguous()


def is_input_clone(node: object) -> bool:
    """Returns whether a node is a clone that converts a graph input to row-major layout."""
    if not is_op(node, dim_order_ops._clone_dim_order.default):
        return False
    source: Any = node.args[0]
    is_input = source.op == "placeholder" and _is_dense(source) is False
    return is_input and is_row_major(node.kwargs.get("dim_order"))


def is_output_clone(node: object) -> bool:
    """Returns whether a node is a clone that converts an output of the graph from row-major layout."""
    if not is_op(node, dim_order_ops._clone_dim_order.default):
        return False
    order = node.kwargs.get("dim_order")
    leaves = bool(node.users) and all(user.op == "output" for user in node.users)
    return order is not None and not is_row_major(order) and leaves and _is_dense(node.args[0]) is True


class EnforceContiguousDimOrderPass(InPlacePass):
    """Makes all intermediate tensors row-major. Inputs and outputs of the graph keep their dim orders.

    The pass inserts clones that convert the inputs and outputs with other dim orders. All other conversions
    of the dim order are removed.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        output = module.graph.output_node()
        results: Any = output.args[0]
        wanted = {
            index: (list(meta.get_tensor(item).dim_order()), meta.get_val(item))  # type: ignore[union-attr]
            for index, item in enumerate(results if isinstance(results, (list, tuple)) else ())
            if _is_dense(item) is False and not is_output_clone(item)
        }
        changed = False
        for node in list(module.graph.nodes):
            if node.op == "placeholder":
                changed |= self._convert_input(node)
            elif is_op(node, *_COPIES):
                if not is_input_clone(node) and not is_output_clone(node):
                    node.replace_all_uses_with(node.all_input_nodes[0])
                    module.graph.erase_node(node)
                    changed = True
            elif is_op(node, dim_order_ops._empty_dim_order.default):
                order: Any = node.kwargs.get("dim_order")
                if order is not None and not is_row_major(order):
                    node.update_kwarg("dim_order", list(range(len(order))))
                    changed = True
        return self._restore_outputs(output, wanted) or changed

    @staticmethod
    def _convert_input(node: Node) -> bool:
        """Inserts a clone that converts an input to row-major layout. Returns whether it was necessary."""
        users = list(node.users)
        if _is_dense(node) is not False or (len(users) == 1 and is_input_clone(users[0])):
            return False
        tensor = meta.get_tensor(node)
        assert tensor is not None
        behind = node
        while behind.next.op == "placeholder":
            behind = behind.next
        with node.graph.inserting_after(behind):
            clone = node.graph.call_function(_CLONE, (node,), {"dim_order": list(range(tensor.dim()))})
        meta.set_val(clone, tensor.contiguous())
        for user in users:
            user.replace_input_with(node, clone)
        return True

    @staticmethod
    def _restore_outputs(output: Node, wanted: dict[int, tuple[list[int], torch.Tensor]]) -> bool:
        """Inserts clones that restore the original dim orders of the outputs."""
        if not wanted:
            return False
        results = list(output.args[0])  # type: ignore[arg-type]
        changed = False
        for index, (order, value) in wanted.items():
            result: Any = results[index]
            if is_output_clone(result):
                continue
            with output.graph.inserting_before(output):
                clone = output.graph.call_function(_CLONE, (result,), {"dim_order": order})
            meta.set_val(clone, value)
            results[index] = clone
            changed = True
        output.args = (tuple(results),)
        return changed


class ReplaceChannelsLastInputClonesPass(InPlacePass):
    """Replaces clones that convert a channels-last input to row-major by two permutes.

    Before: y = dim_order_ops._clone_dim_order(x, dim_order=[0, 1, 2, 3]) of a channels-last input x
    Expected: y = channels_last.permute_copy(permute_copy(x, [0, 2, 3, 1]), [0, 3, 1, 2])

    The first permute does not move data, and other passes can merge the second one with another permute.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            if not _is_replaceable(node):
                continue
            permute = ops.edge.aten.permute_copy.default
            images = insert_call(evaluator, node, permute, (node.args[0], list(PERM_NCHW_TO_NHWC)))
            dense = insert_call(evaluator, node, LAYOUT_PERMUTE_COPY, (images, list(PERM_NHWC_TO_NCHW)))
            node.replace_all_uses_with(dense)
            module.graph.erase_node(node)
            changed = True
        return changed


def _is_replaceable(node: Node) -> bool:
    """Whether a clone of an input only changes the dim order, from channels last to row-major."""
    if not is_op(node, *_COPIES) or not isinstance(node.args[0], Node) or node.args[0].op != "placeholder":
        return False
    tensor = meta.get_tensor(node.args[0])
    if tensor is None or not is_channels_last_image(tensor.dim_order()):
        return False
    options = dict(node.kwargs)
    options.pop("non_blocking", None)
    if not is_row_major_image(options.pop("dim_order", None)):
        return False
    same = {"dtype": tensor.dtype, "layout": tensor.layout, "device": tensor.device, "pin_memory": False}
    return all(name in same and value in (None, same[name]) for name, value in options.items())
