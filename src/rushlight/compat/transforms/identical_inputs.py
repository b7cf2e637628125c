"""Moves equal views and permutes of all inputs of an operator behind the operator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputSpec, TensorArgument
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.compat.transforms.dim_maps import (
    PermuteMap,
    Size,
    ViewMap,
    normalized_permutation,
    same_numel,
    same_sizes,
)
from rushlight.compat.transforms.rewriting import InPlacePass, size_arguments
from rushlight.compat.transforms.view_permutes import PERMUTE_COPY, VIEW_COPY
from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload, ops
from rushlight.ir.sym import same_size

edge = ops.edge.aten


class NormalizeTransformInputPlaceholdersPass(PassBase):
    """Sets the targets of placeholders to their names, if these are names of views or permutes.

    Args:
        exported_program: the program of the graph. If it is None, the pass changes nothing.
        permute_targets: the permute operators, by default `aten.permute_copy`.
    """

    def __init__(
        self,
        exported_program: ExportedProgram | None = None,
        permute_targets: Iterable[Any] | None = None,
    ) -> None:
        super().__init__()
        self.exported_program = exported_program
        targets = (VIEW_COPY, *(permute_targets or (PERMUTE_COPY,)))
        self._names = tuple(target.__name__.replace(".", "_") for target in targets)

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module and the program, in place."""
        if self.exported_program is None:
            return PassResult(graph_module, False)
        placeholders = graph_module.graph.find_nodes(op="placeholder")
        names = {node.name for node in placeholders}
        renamed: dict[str, str] = {}
        changed = False
        for node in placeholders:
            target = str(node.target)
            if target != node.name and (self._is_result(node.name) or self._is_result(target)):
                node.target, changed = node.name, True
                if target not in names:
                    renamed[target] = node.name
        if changed:
            signature = self.exported_program.graph_signature
            signature.input_specs = [_renamed(spec, renamed) for spec in signature.input_specs]
            graph_module.recompile()
        return PassResult(graph_module, changed)

    def _is_result(self, name: str) -> bool:
        base, _, number = name.rpartition("_")
        return name in self._names or (base in self._names and number.isdecimal())


def _renamed(spec: InputSpec, names: dict[str, str]) -> InputSpec:
    if not isinstance(spec.arg, TensorArgument) or spec.arg.name not in names:
        return spec
    return InputSpec(spec.kind, TensorArgument(names[spec.arg.name]), spec.target, spec.persistent)


class FuseIdenticalInputTransformsPass(InPlacePass):
    """Moves equal permutes or views of the inputs of an operator behind the operator.

    Before: y = add(permute_copy(a, [1, 0]), permute_copy(b, [1, 0]))
    Expected: y = permute_copy(add(a, b), [1, 0])

    Inputs with one element need no permute or view. The pass also supports concatenations, whose dimension it
    changes.

    Args:
        exported_program: the program of the graph, on which `NormalizeTransformInputPlaceholdersPass` runs
            first.
        permute_targets: the permute operators, by default `aten.permute_copy`.

    Attributes:
        target_ops: the operators behind which permutes and views are moved.
    """

    _ELEMENTWISE: ClassVar[frozenset[EdgeOpOverload]] = frozenset(
        {
            *(getattr(edge, name).Tensor for name in ("add", "sub", "mul", "div", "remainder")),
            *(getattr(edge, name).Tensor for name in ("eq", "ne", "gt", "ge", "lt", "le")),
            *(getattr(edge, f"bitwise_{name}").Tensor for name in ("and", "or", "xor")),
            *(getattr(edge, f"bitwise_{name}_shift").Tensor for name in ("left", "right")),
            edge.where.self,
        }
    )
    _CONCATENATIONS: ClassVar[frozenset[EdgeOpOverload]] = frozenset(
        {edge.cat.default, edge.concatenate.default}
    )
    target_ops: ClassVar[frozenset[EdgeOpOverload]] = _ELEMENTWISE | _CONCATENATIONS

    def __init__(
        self,
        exported_program: ExportedProgram | None = None,
        permute_targets: Iterable[Any] | None = None,
    ) -> None:
        super().__init__()
        self.exported_program = exported_program
        self._permute_targets = frozenset(permute_targets or (PERMUTE_COPY,))

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module, in place."""
        names = NormalizeTransformInputPlaceholdersPass(self.exported_program, self._permute_targets)
        renamed = names.call(graph_module).modified
        return PassResult(graph_module, super().call(graph_module).modified or renamed)

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        again = True
        while again:
            again = False
            for node in list(module.graph.nodes):
                while node.op == "call_function" and self._sink(node):
                    again = changed = True
        return changed

    @staticmethod
    def is_layout_invariant(node: Node, rank: int) -> bool:
        """Returns whether a node has `rank` dimensions of size 1, so that a permute does not change it."""
        tensor = meta.get_tensor(node)
        return (
            tensor is not None and tensor.dim() == rank and all(same_size(size, 1) for size in tensor.shape)
        )

    def _is_transform(self, node: Node) -> bool:
        return node.target is VIEW_COPY or node.target in self._permute_targets

    def _sink(self, node: Node) -> bool:
        """Moves the transforms of a node's inputs behind the node. Returns whether the graph changed."""
        inputs = list(node.all_input_nodes)
        transforms = [item for item in inputs if self._is_transform(item)]
        if node.target not in self.target_ops or len(inputs) < 2 or not transforms:
            return False
        if meta.get_tensor(node) is None or not self._are_equal(node, transforms):
            return False
        first = transforms[0]
        others = [item for item in inputs if item not in transforms]
        rank = len(meta.get_shape(first))
        if others and node.target not in self._ELEMENTWISE:
            return False
        if not all(self.is_layout_invariant(item, rank) for item in others):
            return False
        sources = [item.all_input_nodes[0] if item in transforms else item for item in inputs]
        shapes = [meta.get_shape(source) for source in sources]
        if node.target in self._CONCATENATIONS:
            found = self._concatenated(node, first, shapes)
        else:
            found = self._broadcast(first, shapes)
        if found is None or not self._can_have_shape(first, found[0], meta.get_shape(node)):
            return False
        self._move(node, first, transforms, found[0], found[1])
        return True

    @staticmethod
    def _are_equal(node: Node, transforms: Sequence[Node]) -> bool:
        first = transforms[0]
        return all(
            item.target is first.target and item.args[1:] == first.args[1:] and list(item.users) == [node]
            for item in transforms
        )

    @staticmethod
    def _broadcast(
        transform: Node, shapes: Sequence[tuple[Size, ...]]
    ) -> tuple[list[Size], int | None] | None:
        """Returns the shape of an elementwise operator on the sources of the transforms, or None."""
        try:
            shape = list(torch.broadcast_shapes(*shapes))
        except RuntimeError:
            return None
        # A view may change which dimensions are broadcast, so that one source must have the whole shape.
        if transform.target is VIEW_COPY and not any(same_sizes(shape, other) for other in shapes):
            return None
        return shape, None

    def _concatenated(
        self, node: Node, transform: Node, shapes: Sequence[tuple[Size, ...]]
    ) -> tuple[list[Size], int | None] | None:
        """Returns the shape and the dimension of a concatenation of the transforms' sources, or None."""
        dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
        if not isinstance(dim, int):
            return None
        if transform.target is VIEW_COPY:
            mapping = ViewMap(transform)
            mapped = mapping.map_dim_inverse(dim) if mapping.is_valid_map else None
        else:
            mapped = PermuteMap(transform).map_dims_inverse(dim)
        if mapped is None or len(mapped) != 1:
            return None
        axis = mapped[0]
        first = shapes[0]
        for shape in shapes:
            if len(shape) != len(first) or not same_sizes(_without(shape, axis), _without(first, axis)):
                return None
        return [*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :]], axis

    def _can_have_shape(self, transform: Node, shape: Sequence[Size], expected: Sequence[Size]) -> bool:
        """Whether a transform of a tensor with a shape has the expected shape."""
        if transform.target is VIEW_COPY:
            return same_numel(shape, expected)
        order = normalized_permutation(transform.args[1], len(shape))
        return order is not None and same_sizes([shape[axis] for axis in order], expected)

    @staticmethod
    def _move(
        node: Node, transform: Node, transforms: Sequence[Node], shape: Sequence[Size], dim: int | None
    ) -> None:
        graph, tensor = node.graph, meta.get_tensor(node)
        assert tensor is not None
        users = list(node.users)
        for item in transforms:
            node.replace_input_with(item, item.all_input_nodes[0])
            graph.erase_node(item)
        if dim is not None:
            node.args = (node.args[0], dim)
            node.kwargs = {}
        with graph.inserting_after(node):
            moved = graph.call_function(transform.target, (node, *transform.args[1:]), dict(transform.kwargs))  # type: ignore[arg-type]
        meta.copy_all(transform, moved)
        meta.clear_delegation_tag(moved)
        tag = meta.get_delegation_tag(node)
        if tag is not None:
            meta.set_delegation_tag(moved, tag)
        meta.set_val(moved, tensor)
        meta.set_val(node, tensor.new_empty(tuple(shape)))
        for user in users:
            user.replace_input_with(node, moved)
        if transform.target is VIEW_COPY:
            sizes = size_arguments(node, tuple(tensor.shape), moved)
            if sizes is not None:
                moved.args = (node, sizes)


def _without(shape: Sequence[Size], axis: int) -> list[Size]:
    return [size for index, size in enumerate(shape) if index != axis]
