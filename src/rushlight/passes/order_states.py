"""Sorts the parameters, buffers and constants of a program as `torch.nn.Module` lists them."""

from __future__ import annotations

from collections.abc import Sequence

from torch.export.graph_signature import InputKind, InputSpec
from typing_extensions import override

from rushlight.ir.facts import MethodProgram
from rushlight.passes.base import ProgramPass

_PARAMETERS = (InputKind.PARAMETER,)
_BUFFERS = (InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


class OrderStatesPass(ProgramPass):
    """Before: inputs for layer.weight, layer.bias, scale. Expected: scale, layer.weight, layer.bias.

    The new order is that of `named_parameters()` and `named_buffers()` of the program's module, as in a
    program that torch decomposed: a module first lists its own tensors, then those of its submodules.
    """

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        specs = program.graph_signature.input_specs
        order = _order(specs)
        if order == list(range(len(specs))):
            return False
        placeholders = program.graph.find_nodes(op="placeholder")
        successor = placeholders[-1].next
        for index in order:
            successor.prepend(placeholders[index])
        specs[:] = [specs[index] for index in order]
        return True


def _order(specs: Sequence[InputSpec]) -> list[int]:
    """Returns the old indices of the sorted inputs. Other inputs keep their places."""
    names = [str(spec.target) for kind in (_PARAMETERS, _BUFFERS) for spec in specs if spec.kind in kind]
    ranks = {name: rank for rank, name in enumerate(_listed(names))}
    order = list(range(len(specs)))
    for kinds in (_PARAMETERS, _BUFFERS):
        places = [index for index, spec in enumerate(specs) if spec.kind in kinds]
        moved = sorted(places, key=lambda index: ranks[str(specs[index].target)])
        for place, index in zip(places, moved, strict=True):
            order[place] = index
    return order


def _listed(names: Sequence[str]) -> list[str]:
    """Sorts qualified names: first those without a submodule, then those of each submodule."""
    own = [name for name in names if "." not in name]
    modules: dict[str, list[str]] = {}
    for name in names:
        module, dot, rest = name.partition(".")
        if dot:
            modules.setdefault(module, []).append(rest)
    return own + [f"{module}.{rest}" for module, inner in modules.items() for rest in _listed(inner)]
