"""Fingerprints of programs. They detect whether a step that may only read a program changed the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from rushlight.ir import meta

Fingerprint = dict[str, tuple[object, ...]]
"""A description of each part of a program, by the name of the part. Descriptions are compared with `==`."""


def fingerprint(program: ExportedProgram) -> Fingerprint:
    """Makes the fingerprint of a program: its graphs, signature, tables of tensors and symbols.

    This takes about a microsecond for each node. The fingerprint refers to the argument objects of nodes,
    because torch.fx replaces these objects but never changes them.
    """
    parts: Fingerprint = {}
    for path, module in _graphs(program.graph_module, ""):
        for index, node in enumerate(module.graph.nodes):
            parts[f"node {index}{path}"] = _node_parts(node)
    signature = program.graph_signature
    parts["the inputs of the signature"] = tuple(map(_signature_spec_parts, signature.input_specs))
    parts["the outputs of the signature"] = tuple(map(_signature_spec_parts, signature.output_specs))
    parts["the state dict"] = _table_parts(program.state_dict)
    parts["the constants"] = _table_parts(program.constants)
    parts["the range constraints"] = tuple(program.range_constraints.items())
    parts.update(_symbol_parts(program))
    return parts


def first_difference(before: Fingerprint, after: Fingerprint) -> str | None:
    """Describes a part that differs between two fingerprints. Returns None if all parts are equal.

    New symbols are ignored, because tracing creates symbols. Any other new part is a difference.
    """
    for name, part in before.items():
        if name not in after:
            return f"{name} was removed"
        if part != after[name]:
            return f"{name} was {_shortened(part)} and is now {_shortened(after[name])}"
    added = [name for name in after if name not in before and not name.startswith("symbol ")]
    return f"{added[0]} was added" if added else None


def shape_env_of(program: ExportedProgram) -> ShapeEnv | None:
    """Returns the ShapeEnv of the symbols of a program; None if all sizes are numbers."""
    for node in program.graph.nodes:
        value = meta.find_val(node)
        sizes = tuple(value.shape) if isinstance(value, torch.Tensor) else (value,)
        for size in sizes:
            if isinstance(size, torch.SymInt):
                environment: ShapeEnv = size.node.shape_env
                return environment
    return None


def _graphs(module: GraphModule, path: str) -> Iterator[tuple[str, GraphModule]]:
    yield path, module
    for name, child in module.named_children():
        if isinstance(child, GraphModule):
            yield from _graphs(child, f"{path} of {name}")


def _node_parts(node: Node) -> tuple[object, ...]:
    value, spec = meta.find_val(node), meta.get_spec(node)
    return (
        node,
        node.name,
        node.target,
        node.args,
        node.kwargs,
        _ByIdentity(value),
        _tensor_spec_parts(spec),
    )


def _tensor_spec_parts(spec: object) -> object:
    if spec is None:
        return None
    if isinstance(spec, (list, tuple)):
        return tuple(map(_tensor_spec_parts, spec))
    parts = getattr(spec, "__dict__", None)
    return repr(parts) if parts is not None else spec


def _signature_spec_parts(spec: object) -> tuple[object, ...]:
    return tuple(str(getattr(spec, part.name)) for part in fields(spec)) if is_dataclass(spec) else (spec,)


def _table_parts(table: Mapping[str, object]) -> tuple[object, ...]:
    return tuple((name, id(value)) for name, value in table.items())


def _symbol_parts(program: ExportedProgram) -> Fingerprint:
    environment = shape_env_of(program)
    if environment is None:
        return {}
    parts: Fingerprint = {"the guards": tuple(str(guard.expr) for guard in environment.guards)}
    for symbol, bounds in environment.var_to_range.items():
        parts[f"symbol {symbol}"] = (bounds.lower, bounds.upper, environment.replacements.get(symbol))
    return parts


class _ByIdentity:
    """Compares objects by identity, because `==` of fake tensors compares elements."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.value)


def _shortened(part: tuple[object, ...]) -> str:
    text = str(part)
    return text if len(text) <= 300 else text[:300] + "..."
