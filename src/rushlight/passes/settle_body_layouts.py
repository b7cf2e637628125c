"""Copies the operands of control flow bodies to the layouts with which the bodies were exported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.control_flow import COND, CONTROL_FLOW, MAP, SCAN, WHILE_LOOP, is_control_flow
from rushlight.ir.dim_order_ops import has_memory_format, memory_format_of
from rushlight.ir.fake import Evaluator
from rushlight.ir.spec import dim_order_from_strides
from rushlight.passes.base import GraphPass, insert_call

# The index of the argument with the captured tensors. The body reads them without a copy; they are its last
# placeholders. Carried values and slices are copied to memory of the body.
_CAPTURED: dict[object, int] = {COND: 3, WHILE_LOOP: 3, MAP: 2, SCAN: 3}


class SettleBodyLayoutsPass(GraphPass):
    """Copies operands and results of a body if their layouts differ inside and outside the body.

    A body reads its operands without a copy, and the results of a `cond` are the results of the executed
    branch. When a view is replaced by a copy, the layout may change only inside or only outside the body.

    Before: p = aten.permute_copy(x, [0, 2, 1, 3])  # row-major  cond(c, f, g, [p])  # f, g: channels last
    Expected: q = aten.clone(p, memory_format=channels_last)     cond(c, f, g, [q])
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            if not is_control_flow(node):
                continue
            bodies = [_body(module, node.args[index]) for index in CONTROL_FLOW[node.target]]
            changed |= _settle_operands(node, bodies, evaluator)
            if node.target is COND:
                for body in bodies:
                    changed |= _settle_results(node, body, evaluator)
        return changed


def _settle_operands(node: Node, bodies: Sequence[GraphModule], evaluator: Evaluator) -> bool:
    position = _CAPTURED[node.target]
    operands: Any = node.args[position] if len(node.args) > position else ()
    placeholders = [[n for n in body.graph.nodes if n.op == "placeholder"] for body in bodies]
    settled = []
    for index, operand in enumerate(operands):
        readers = [inputs[index - len(operands)] for inputs in placeholders]
        layouts = {_layout(meta.get_val(reader)) for reader in readers if reader.users}
        settled.append(_in_layout(operand, layouts.pop(), node, evaluator) if len(layouts) == 1 else operand)
    if all(new is old for new, old in zip(settled, operands, strict=True)):
        return False
    node.update_arg(position, type(operands)(settled))
    return True


def _settle_results(node: Node, body: GraphModule, evaluator: Evaluator) -> bool:
    output = body.graph.output_node()
    results: Any = output.args[0]
    expected = meta.get_val(node)
    settled = [
        _in_layout(result, _layout(val), output, evaluator)
        for result, val in zip(results, expected, strict=True)
    ]
    if all(new is old for new, old in zip(settled, results, strict=True)):
        return False
    output.update_arg(0, type(results)(settled))
    meta.set_val(output, type(results)(meta.get_val(n) if isinstance(n, Node) else n for n in settled))
    body.recompile()
    return True


def _in_layout(value: object, layout: tuple[int, ...] | None, user: Node, evaluator: Evaluator) -> Any:
    """Returns the value, or a copy in front of `user` if the dim order of the value is not `layout`."""
    if not isinstance(value, Node) or layout is None or _layout(meta.get_val(value)) == layout:
        return value
    return insert_call(
        evaluator, user, torch.ops.aten.clone.default, (value,), memory_format=memory_format_of(layout)
    )


def _layout(val: object) -> tuple[int, ...] | None:
    """Returns the dim order of a tensor; row-major if its strides do not match a memory format."""
    if not isinstance(val, torch.Tensor):
        return None
    if not has_memory_format(val):
        return tuple(range(val.dim()))
    return tuple(dim_order_from_strides(val.stride()))


def _body(module: GraphModule, attribute: Any) -> GraphModule:
    body = module.get_submodule(str(attribute.target))
    assert isinstance(body, GraphModule)
    return body
