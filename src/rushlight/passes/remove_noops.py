"""Removes operators without effect: slices of whole dims, squeezes of dynamic dims, no-op conversions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export.graph_signature import OutputKind
from torch.fx import Graph, GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.program import rename_outputs
from rushlight.passes.base import GraphPass, ProgramPass


class RemoveNoopSlicesPass(GraphPass):
    """Before: aten.slice_copy(x, 0, 0, 9223372036854775807). Expected: x. Dynamic shapes are skipped."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        return _bypass(module, torch.ops.aten.slice_copy.Tensor, _same_static_shape)


class SqueezeStaticDimsPass(GraphPass):
    """Before: aten.squeeze_copy.dims(x, [0, 1]) of a [b, 1, 3] x. Expected: aten.squeeze_copy.dims(x, [1]).

    In an exported program, a dynamic dim stays for any size at run time. The kernel would remove it if the
    size is 1.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            dims = _squeezed_dims(node)
            if dims is None:
                continue
            source = node.args[0]
            before = meta.get_tensor(source)
            assert before is not None
            kept = [dim for dim in dims if isinstance(before.shape[dim], int) and before.shape[dim] == 1]
            if len(kept) == len(dims):
                continue
            if kept:
                node.target = torch.ops.aten.squeeze_copy.dims
                node.args = (source, kept)
            else:
                node.replace_all_uses_with(source)
            changed = True
        return changed


def _squeezed_dims(node: Node) -> list[int] | None:
    """Returns the dims argument of a squeeze; None for another node or a tensor with a static shape."""
    squeeze = torch.ops.aten.squeeze_copy
    if node.target not in (squeeze.default, squeeze.dim, squeeze.dims):
        return None
    source = node.args[0]
    before = meta.get_tensor(source) if isinstance(source, Node) else None
    if before is None or all(isinstance(size, int) for size in before.shape):
        return None
    given: Any = node.args[1] if len(node.args) > 1 else list(range(before.dim()))
    dims = given if isinstance(given, (list, tuple)) else [given]
    return [int(dim) % before.dim() for dim in dims]


class RemoveNoopConversionsPass(GraphPass):
    """Before: aten._to_copy(x, dtype=torch.float32) of a float32 x in the same layout. Expected: x."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        return _bypass(module, torch.ops.aten._to_copy.default, _same_metadata)


class RemoveNoopCopiesPass(ProgramPass):
    """Before: the new value of a buffer b is aten.copy(b, y) of a y with the same metadata. Expected: y.

    The copy stays if y is the new value of another buffer. Copies that are no new value stay too, as in the
    decompositions of `torch.export`.
    """

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        graph = program.graph_module.graph
        changed = False
        for index, spec in enumerate(program.graph_signature.output_specs):
            copy = _results(graph)[index]
            if spec.kind == OutputKind.BUFFER_MUTATION and _is_noop_copy(copy, program):
                copy.replace_all_uses_with(copy.args[1])
                graph.erase_node(copy)
                changed = True
        if changed:
            rename_outputs(program)
        return changed


def _results(graph: Graph) -> Sequence[Any]:
    results = graph.output_node().args[0]
    assert isinstance(results, (list, tuple))
    return results


def _is_noop_copy(node: Node, program: MethodProgram) -> bool:
    if node.target is not torch.ops.aten.copy.default or not _same_metadata(node, index=1):
        return False
    specs = program.graph_signature.output_specs
    results = zip(_results(program.graph_module.graph), specs, strict=True)
    return node.args[1] not in [result for result, spec in results if spec.kind != OutputKind.USER_OUTPUT]


def _bypass(module: GraphModule, op: OpOverload, is_noop: Callable[[Node], bool], index: int = 0) -> bool:
    """Replaces no-op calls of an operator by the argument at an index.

    A result of a graph does not become an input of it: a loop would return one carried value for another.
    """
    changed = False
    for node in module.graph.nodes:
        if node.target is not op or not is_noop(node):
            continue
        source = node.args[index]
        if source.op == "placeholder" and any(user.op == "output" for user in node.users):
            continue
        node.replace_all_uses_with(source)
        changed = True
    return changed


def _tensors(node: Node, index: int = 0) -> tuple[torch.Tensor, torch.Tensor] | None:
    source = node.args[index]
    before = meta.get_tensor(source) if isinstance(source, Node) else None
    after = meta.get_tensor(node)
    return None if before is None or after is None else (before, after)


def _same_static_shape(node: Node) -> bool:
    tensors = _tensors(node)
    if tensors is None:
        return False
    before, after = tensors
    static = all(isinstance(size, int) for size in (*before.shape, *after.shape))
    return static and before.shape == after.shape


def _same_metadata(node: Node, index: int = 0) -> bool:
    tensors = _tensors(node, index)
    if tensors is None:
        return False
    before, after = tensors
    return (
        before.dtype == after.dtype
        and before.device == after.device
        and before.shape == after.shape
        and before.stride() == after.stride()
    )


class RemoveNoopExpandCopyPass(GraphPass):
    """Before: y = expand_copy(x, [2, 3]) of a [2, 3] x. Expected: x."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in list(module.graph.nodes):
            if not is_op(node, torch.ops.aten.expand_copy.default):
                continue
            source = node.args[0]
            assert isinstance(source, Node)
            before, after = meta.get_tensor(source), meta.get_tensor(node)
            if before is not None and after is not None and before.shape == after.shape:
                node.replace_all_uses_with(source)
                changed = True
        return changed
