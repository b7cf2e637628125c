"""Replaces operators by operators of a backend's dialect, with a function for each operator."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.node import Target
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.compat.transforms.rewriting import refresh
from rushlight.ir import meta
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import eliminate_dead_code


@dataclass
class DialectNodeSpec:
    """A call that replaces a node.

    Args:
        op: the operator.
        args: the positional arguments.
        kwargs: the keyword arguments; None means that there are none.
    """

    op: Target
    args: tuple[Any, ...]
    kwargs: dict[str, Any] | None = None


class AtenToDialectPass(PassBase):
    """Replaces calls of operators in place.

    `register_dialect_substitution` registers a function for an operator in a subclass. The function
    `(node, pass)` returns a DialectNodeSpec, or None if the node is not replaced. It may add constants to
    `exported_program` and to the graph of the node.

    Args:
        exported_program: the program of the graph.
    """

    _DIALECT_SUBSTITUTIONS: ClassVar[dict[Target, SubstitutionFn]] = {}

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self.exported_program = exported_program

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Creates a separate table of functions for each subclass."""
        super().__init_subclass__(**kwargs)
        cls._DIALECT_SUBSTITUTIONS = {}

    @classmethod
    def register_dialect_substitution(cls, target: Target) -> Callable[[SubstitutionFn], SubstitutionFn]:
        """Returns a decorator that registers the function for an operator.

        Raises:
            RuntimeError: the class already has a function for the operator.
        """

        def register(function: SubstitutionFn) -> SubstitutionFn:
            if cls._DIALECT_SUBSTITUTIONS.setdefault(target, function) is not function:
                raise RuntimeError(f"Multiple substitutions registered for {target} in {cls.__name__}")
            return function

        return register

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass in place. New nodes have the metadata of the nodes that they replace."""
        substitutions: Mapping[Any, SubstitutionFn] = self._DIALECT_SUBSTITUTIONS
        graph = graph_module.graph
        evaluator = Evaluator.of(graph_module)
        made: list[Node] = []
        for node in list(graph.nodes):
            substitute = substitutions.get(node.target) if node.op == "call_function" else None
            spec = substitute(node, self) if substitute is not None else None
            if spec is None:
                continue
            with graph.inserting_before(node):
                new = graph.create_node("call_function", spec.op, spec.args, spec.kwargs or {})
            meta.copy_all(node, new)
            meta.add_to_stack_trace(new, traceback.format_stack()[-2])
            target: Any = spec.op
            meta.set_val(new, evaluator.value(target, new.args, new.kwargs))
            node.replace_all_uses_with(new)
            graph.erase_node(node)
            made.append(new)
        if made:
            refresh(evaluator, graph, made)
            eliminate_dead_code(graph)
            graph_module.recompile()
        return PassResult(graph_module, bool(made))


SubstitutionFn: TypeAlias = Callable[[Node, AtenToDialectPass], DialectNodeSpec | None]
"""A function that `register_dialect_substitution` registers."""
