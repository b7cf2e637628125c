"""Finds the operators of debug handles, with node name, module path and source line."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import GraphModule, Node

_CONVERSION = re.compile("(de)?quantize_|choose_qparams")


@dataclass(frozen=True)
class Operator:
    """An operator of the edge program.

    Attributes:
        node: the name of the node.
        op: the name of the operator, such as "aten.add.Tensor".
        handle: the debug handle.
        module: the dotted path of the module that called the operator; "" for the model itself.
        line: the innermost source line of the model, as "file:line"; "" if it is unknown.
        code: the source text of this line.
        stack_trace: the whole stack trace.
        modules: the modules, outermost first, as a dict from name to (path, class).
    """

    node: str
    op: str
    handle: int
    module: str = ""
    line: str = ""
    code: str = ""
    stack_trace: str | None = None
    modules: Mapping[str, Any] = field(default_factory=dict, hash=False)


def operators_of(program: ExportedProgram) -> dict[int, list[Operator]]:
    """Returns the operators of an edge program by debug handle, including those in control flow bodies."""
    from rushlight.devtools.etrecord.record import as_handles
    from rushlight.ir import meta

    found: dict[int, list[Operator]] = {}
    for node in _nodes(program.graph_module):
        place = meta.source_of(node)
        for handle in as_handles(meta.get_debug_handle(node)):
            made = Operator(
                node.name,
                getattr(node.target, "__name__", str(node.target)),
                handle,
                meta.module_path_of(node) or "",
                "" if place is None else str(place),
                "" if place is None else place.code,
                meta.get_stack_trace(node),
                meta.module_stack_of(node),
            )
            found.setdefault(handle, []).append(made)
    return found


def _nodes(module: GraphModule) -> Iterator[Node]:
    from torch.fx import GraphModule

    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:
            yield node
    for child in module.children():
        if isinstance(child, GraphModule):
            yield from _nodes(child)


def look_up(operators: Mapping[int, list[Operator]], handles: Iterable[int]) -> list[Operator]:
    """Returns the operators of the given debug handles without duplicates, in the order of the handles."""
    return list(dict.fromkeys(found for handle in handles for found in operators.get(handle, ())))


def without_conversions(operators: Sequence[Operator]) -> Sequence[Operator]:
    """Returns the operators without those that convert values between float and integers.

    A quantizer inserts these conversions between the operators of the model. A conversion has the source line
    of the operator that reads its result, even if a step computes it together with the operator before it.

    Args:
        operators: the operators of a step.

    Returns:
        The other operators; all operators if all of them are conversions.
    """
    found = [operator for operator in operators if not _CONVERSION.match(base_name(operator.op))]
    return found or operators


def base_name(op: str) -> str:
    """Returns the name of an operator without library, overload and variant.

    The result is equal for kernels and nodes. The names "aten.add.Tensor", "aten::add.out" and
    "native_call_add.out" give "add". "permute_copy" gives "permute". "et_view", the kernel that replaces
    "view_copy", gives "view".
    """
    name = op.removeprefix("native_call_").rpartition("::")[2]
    parts = name.split(".")
    name = parts[1] if len(parts) > 2 else parts[0]
    return re.sub(r"^et_(?=view$)|(_copy|_)$", "", name)
