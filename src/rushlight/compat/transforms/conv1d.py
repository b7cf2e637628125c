"""Replaces 1-d convolutions by 2-d convolutions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.node import Target
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.compat.transforms.constants import get_param_tensor, is_param_node, set_param_tensor
from rushlight.compat.transforms.rewriting import settle
from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op, ops
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import graph_modules, insert_call

edge = ops.edge.aten


class ConvertConv1dToConv2dPass(PassBase):
    """Replaces 1-d convolutions by 2-d convolutions whose first spatial dimension has size 1.

    Before: y = convolution(x, w, b, [2], [1], [1], False, [0], 1) of a [4, 3, 5] w
    Expected: a = convolution(unsqueeze_copy(x, 2), w, b, [1, 2], [0, 1], [1, 1], False, [0, 0], 1)
        y = squeeze_copy.dim(a, 2) of a [4, 3, 1, 5] w

    The pass works in place and changes the shapes of the stored weights. A convolution is not replaced if
    other nodes use its weight, or if the graph computes its weight. In the bodies of control flow, the graph
    adds the new dimension to each weight.

    Args:
        exported_program: the program of the graph, whose weights are changed.
        graph_local_weight_targets: operators whose results are also accepted as weights. The graph adds the
            new dimension to these results.
    """

    def __init__(
        self, exported_program: ExportedProgram, graph_local_weight_targets: Collection[Target] = ()
    ) -> None:
        super().__init__()
        self.exported_program = exported_program
        self._local_targets = frozenset(graph_local_weight_targets)

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module and its program, in place."""
        modules = list(graph_modules(graph_module))
        if graph_module is self.exported_program.graph_module:
            changed = [self._convert_main(modules.pop(0))]
        else:
            changed = []
        changed += [self._convert_body(module) for module in modules]
        if any(changed):
            for module in graph_modules(graph_module):
                settle(module)
        return PassResult(graph_module, any(changed))

    def _convert_main(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        found = [node for node in module.graph.nodes if _is_conv1d(node)]
        stored = {node: weight for node in found if (weight := self._stored_weight(node)) is not None}
        changed = False
        for node in found:
            weight = node.args[1]
            if node in stored:
                if not all(_only_as_weight(user, weight) and user in stored for user in weight.users):
                    continue
                for user in list(weight.users):
                    _convert(evaluator, user, weight)
                    del stored[user]
                self._add_dimension(weight)
            elif _rank(node.args[0]) == 3 and _rank(weight) == 3 and weight.target in self._local_targets:
                _convert(
                    evaluator, node, insert_call(evaluator, node, edge.unsqueeze_copy.default, (weight, 2))
                )
            else:
                continue
            changed = True
        return changed

    @staticmethod
    def _convert_body(module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        found = [node for node in module.graph.nodes if _is_conv1d(node) and _rank(node.args[1]) == 3]
        for node in found:
            weight = insert_call(evaluator, node, edge.unsqueeze_copy.default, (node.args[1], 2))
            _convert(evaluator, node, weight)
        return bool(found)

    def _stored_weight(self, node: Node) -> Node | None:
        weight: Any = node.args[1]
        if _rank(weight) != 3 or not is_param_node(self.exported_program, weight):
            return None
        tensor = get_param_tensor(self.exported_program, weight)
        return weight if tensor is not None and tensor.dim() == 3 else None

    def _add_dimension(self, weight: Node) -> None:
        tensor = get_param_tensor(self.exported_program, weight)
        assert tensor is not None
        set_param_tensor(self.exported_program, weight, tensor.detach().unsqueeze(2).contiguous())
        meta.set_val(weight, meta.get_val(weight).unsqueeze(2))


def _rank(node: object) -> int | None:
    tensor = meta.get_tensor(node) if isinstance(node, Node) else None
    return None if tensor is None else tensor.dim()


def _is_conv1d(node: Node) -> bool:
    if not is_op(node, torch.ops.aten.convolution.default) or len(node.args) != 9:
        return False
    stride: Any = node.args[3]
    return len(stride) == 1 and all(isinstance(item, Node) for item in node.args[:2])


def _only_as_weight(user: Node, weight: Node) -> bool:
    return [index for index, item in enumerate(user.args) if item is weight] == [1]


def _convert(evaluator: Evaluator, node: Node, weight: Node) -> None:
    """Converts a convolution in place.

    The caller adds the new dimension to a stored weight afterwards.
    """
    args: list[Any] = list(node.args)
    args[0] = insert_call(evaluator, node, edge.unsqueeze_copy.default, (args[0], 2))
    args[1] = weight
    for index, first in ((3, 1), (4, 0), (5, 1), (7, 0)):  # stride, padding, dilation, output padding
        args[index] = [first, *args[index]]
    users = list(node.users)
    value = meta.get_val(node)
    node.args = tuple(args)
    meta.set_val(node, value.unsqueeze(2))
    with node.graph.inserting_after(node):
        squeezed = node.graph.call_function(edge.squeeze_copy.dim, (node, 2))
    meta.copy_origin(node, squeezed)
    meta.set_val(squeezed, value)
    for user in users:
        user.replace_input_with(node, squeezed)
