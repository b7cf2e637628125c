"""Checks that the items of the user's data fit the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from rushlight.ir import meta
from rushlight.quantize.errors import QuantizationError

Inputs = Sequence[object] | torch.Tensor | Mapping[str, object]


def as_arguments(inputs: Inputs) -> tuple[object, ...]:
    """Returns an item of data as a tuple of positional arguments."""
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def arguments_of(model: GraphModule, inputs: Inputs, what: str) -> tuple[object, ...]:
    """Returns an item of data as a tuple of arguments, in the order of the model's inputs.

    Args:
        model: a module of torch.export, or the result of prepare_pt2e.
        inputs: a tuple of arguments, one tensor, or a dict from name to argument.
        what: the first words of the error message, such as "calibration: item 3 of the data".

    Raises:
        QuantizationError: the keys of the dict are not the names of the inputs.
    """
    if not isinstance(inputs, Mapping):
        return as_arguments(inputs)
    names = [node.name for node in model.graph.nodes if node.op == "placeholder"]
    if set(inputs) != set(names):
        raise QuantizationError(
            f"{what} has the inputs {', '.join(map(str, inputs))}, but the model takes {', '.join(names)}"
        )
    return tuple(inputs[name] for name in names)


def check_arguments(model: GraphModule, arguments: Sequence[object], what: str) -> None:
    """Checks the number, dtypes and sizes of arguments.

    Dynamic sizes are not checked here; the guards of the model check them.

    Args:
        model: a module of torch.export, or the result of prepare_pt2e.
        arguments: the arguments.
        what: the first words of the error message, such as "calibration: item 3 of the data".

    Raises:
        QuantizationError: the arguments do not fit the model.
    """
    wanted = [node for node in model.graph.nodes if node.op == "placeholder"]
    given = pytree.tree_leaves(tuple(arguments))
    if len(given) != len(wanted):
        raise QuantizationError(
            f"{what} has {len(given)} inputs, but the model takes {len(wanted)}: "
            f"{', '.join(node.name for node in wanted)}"
        )
    for node, value in zip(wanted, given, strict=True):
        expected = meta.find_val(node)
        if isinstance(expected, torch.Tensor) and not _fits(value, expected):
            raise QuantizationError(f"{what}: input {node.name} takes {_text(expected)}, not {_text(value)}")


def _fits(value: object, expected: torch.Tensor) -> bool:
    if not isinstance(value, torch.Tensor) or value.dtype != expected.dtype or value.ndim != expected.ndim:
        return False
    return all(_is_symbol(w) or w == g for w, g in zip(expected.shape, value.shape, strict=True))


def _is_symbol(size: object) -> bool:
    return isinstance(size, torch.SymInt)


def _text(value: object) -> str:
    if not isinstance(value, torch.Tensor):
        return f"a {type(value).__name__}"
    return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"
