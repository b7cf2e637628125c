"""Encodes relations between the integers of a method, such as `u0 <= u1`, as named data.

The runtime checks the relations. A runtime that does not support this named data ignores it. The steps of a
relation are a program for a stack machine. All numbers are little-endian. The data consist of:

- The header, four uint32: version, number of relations, number of steps, 0.
- For each relation, six uint32: the index of the value after which the relation is checked (0xFFFFFFFF
  means before the execution), the index of the first step, the number of steps, the byte offset of the text
  of the relation, the byte offset of the source line in the model, and 0.
- For each step, four uint32 and an int64: operation, index of the input or value, dimension, byte offset of
  the name of the pushed value, constant.
- The texts. Each of them ends with a zero byte.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import NamedTuple

import sympy
import torch
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.facts import Relation
from rushlight.ir.sym import IntLike

KEY = "rushlight.relations."
VERSION = 1
START = 0xFFFFFFFF

_HEADER = struct.Struct("<IIII")
_RELATION = struct.Struct("<IIIIII")
_STEP = struct.Struct("<IIIIq")
_DEPTH = 16
_INT64 = range(-(2**63), 2**63)

(
    _CONSTANT, _SIZE, _INTEGER, _VALUE, _ADD, _SUBTRACT, _MULTIPLY, _FLOOR_DIVIDE, _MODULO, _MAXIMUM,
    _MINIMUM, _LESS, _LESS_EQUAL, _EQUAL, _AND, _OR, _NOT,
) = range(17)  # fmt: skip

# Class names of sympy and torch. Functions of many arguments are converted to chains of binary operations.
_CHAINS = {
    "Add": _ADD, "Mul": _MULTIPLY, "Max": _MAXIMUM, "Min": _MINIMUM, "And": _AND, "Or": _OR,
    "FloorDiv": _FLOOR_DIVIDE, "CleanDiv": _FLOOR_DIVIDE, "Mod": _MODULO, "PythonMod": _MODULO,
    "LessThan": _LESS_EQUAL, "StrictLessThan": _LESS, "Equality": _EQUAL,
}  # fmt: skip
_SWAPPED = {"GreaterThan": _LESS_EQUAL, "StrictGreaterThan": _LESS}


class _NotEncoded(Exception):
    """A relation contains a function or a symbol that the runtime does not support."""


class _Step(NamedTuple):
    """A step of the stack machine.

    Attributes:
        op: the operation.
        source: the index of the input or value that the step pushes.
        dim: the dimension of a pushed size.
        name: the name of the pushed value.
        constant: the pushed constant.
    """

    op: int
    source: int = 0
    dim: int = 0
    name: str = ""
    constant: int = 0


@dataclass(frozen=True, slots=True)
class _Origin:
    """The origin of a symbol's value: a size or an integer that is equal to scale * symbol + offset."""

    op: int
    index: int
    dim: int
    name: str
    scale: int = 1
    offset: int = 0
    order: int = -1  # the position in the list of computed integers, or -1


@dataclass(frozen=True, slots=True)
class _EncodedRelation:
    """A relation as the file contains it.

    Attributes:
        steps: the steps that compute it.
        trigger: the index of the value after which the relation is checked; START means before the execution.
        text: the text of the relation.
        source: the line in the source code of the model.
    """

    steps: list[_Step]
    trigger: int
    text: str
    source: str


@dataclass(slots=True)
class _Texts:
    """Zero-terminated texts. Equal texts are stored once."""

    start: int
    data: bytearray = field(default_factory=bytearray)
    places: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        if text not in self.places:
            self.places[text] = self.start + len(self.data)
            self.data += text.encode() + b"\0"
        return self.places[text]


def encode_relations(
    relations: Sequence[Relation],
    inputs: Sequence[Node],
    computed: Sequence[tuple[Node, int]],
) -> bytes:
    """Encodes the relations of a method.

    Args:
        relations: the relations, with their source lines.
        inputs: the nodes of the user inputs.
        computed: the nodes with an integer result, each with the index of its value.

    Returns:
        The bytes. They are empty if there are no relations. They do not contain relations that the runtime
        cannot compute.
    """
    origins = _origins(inputs, computed)
    encoded = []
    for relation, line in relations:
        try:
            steps, used = _steps(relation, origins)
        except _NotEncoded:
            continue
        last = max(used, key=lambda origin: origin.order)
        trigger = last.index if last.order >= 0 else START
        source = f"{PurePath(line.file).name}:{line.line}" if line is not None else ""
        encoded.append(_EncodedRelation(steps, trigger, _text(relation, origins), source))
    return _bytes_of(encoded) if encoded else b""


def _bytes_of(relations: Sequence[_EncodedRelation]) -> bytes:
    """Returns the header, relations, steps and texts in the format of the module docstring."""
    total = sum(len(relation.steps) for relation in relations)
    texts = _Texts(_HEADER.size + _RELATION.size * len(relations) + _STEP.size * total)
    texts.place("")
    records, steps, first = bytearray(), bytearray(), 0
    for relation in relations:
        count, text, source = len(relation.steps), texts.place(relation.text), texts.place(relation.source)
        records += _RELATION.pack(relation.trigger, first, count, text, source, 0)
        for step in relation.steps:
            steps += _STEP.pack(step.op, step.source, step.dim, texts.place(step.name), step.constant)
        first += count
    return _HEADER.pack(VERSION, len(relations), total, 0) + bytes(records + steps + texts.data)


def _origins(inputs: Sequence[Node], computed: Sequence[tuple[Node, int]]) -> dict[sympy.Symbol, _Origin]:
    """Returns the origin of each symbol whose value the runtime knows. See `encode_relations` for arguments.

    If several sizes contain a symbol, the origin is the one with the smallest scale and offset.
    """
    origins: dict[sympy.Symbol, _Origin] = {}
    for size, origin in _given_integers(inputs):
        linear = _linear(size)
        if linear is None:
            continue
        symbol, scale, offset = linear
        known = origins.get(symbol)
        if known is None or (scale, abs(offset)) < (known.scale, abs(known.offset)):
            origins[symbol] = replace(origin, scale=scale, offset=offset)
    given = set(origins)
    for order, (node, index) in enumerate(computed):
        size = meta.get_val(node)
        if size.node.expr.is_Symbol and size.node.expr not in given:
            origins.setdefault(size.node.expr, _Origin(_VALUE, index, 0, str(size.node.expr), order=order))
    return origins


def _given_integers(inputs: Sequence[Node]) -> Iterator[tuple[object, _Origin]]:
    """Yields the integers and the sizes of tensors that the caller passes."""
    for index, node in enumerate(inputs):
        value = meta.get_val(node) if meta.has_val(node) else None
        name = str(node.target)
        yield value, _Origin(_INTEGER, index, 0, name)
        if isinstance(value, torch.Tensor):
            sizes: tuple[IntLike, ...] = tuple(value.shape)
            for dim, size in enumerate(sizes):
                yield size, _Origin(_SIZE, index, dim, f"{name}.shape[{dim}]")


def _linear(size: object) -> tuple[sympy.Symbol, int, int] | None:
    """Returns (symbol, scale, offset) of a size scale * symbol + offset with scale > 0; otherwise None."""
    if not isinstance(size, torch.SymInt):
        return None
    expression = size.node.expr
    symbols = list(expression.free_symbols)
    if len(symbols) != 1:
        return None
    scale = expression.coeff(symbols[0])
    offset = expression - scale * symbols[0]
    if not (scale.is_Integer and offset.is_Integer and scale > 0):
        return None
    return symbols[0], int(scale), int(offset)


def _steps(
    relation: sympy.Expr, origins: Mapping[sympy.Symbol, _Origin]
) -> tuple[list[_Step], list[_Origin]]:
    """Returns the steps of a relation in postfix order, and the origins of the symbols in the relation.

    Raises:
        _NotEncoded: the relation has no symbol, or contains what the runtime does not support.
    """
    program = _StackProgram(origins)
    program.add(relation)
    if not program.used or program.depth() > _DEPTH:
        raise _NotEncoded
    return program.steps, program.used


class _StackProgram:
    """Converts an expression to steps in postfix order.

    Attributes:
        steps: the steps so far.
        used: the origins of the symbols in the expression.
    """

    def __init__(self, origins: Mapping[sympy.Symbol, _Origin]) -> None:
        self._origins = origins
        self.steps: list[_Step] = []
        self.used: list[_Origin] = []

    def add(self, expression: sympy.Expr) -> None:
        """Adds the steps that compute an expression and push its value."""
        if expression.is_Integer:
            self._push(int(expression))
        elif expression.is_Symbol:
            self._push_symbol(expression)
        else:
            self._add_function(expression)

    def depth(self) -> int:
        """Returns the largest number of values on the stack."""
        depth = most = 0
        for step in self.steps:
            depth += 1 if step.op <= _VALUE else 0 if step.op == _NOT else -1
            most = max(most, depth)
        return most

    def _push(self, value: int) -> None:
        if value not in _INT64:
            raise _NotEncoded
        self.steps.append(_Step(_CONSTANT, constant=value))

    def _push_symbol(self, symbol: sympy.Symbol) -> None:
        origin = self._origins.get(symbol)
        if origin is None:
            raise _NotEncoded
        self.used.append(origin)
        self.steps.append(_Step(origin.op, origin.index, origin.dim, origin.name))
        if origin.offset:
            self._push(origin.offset)
            self.steps.append(_Step(_SUBTRACT))
        if origin.scale != 1:
            self._push(origin.scale)
            self.steps.append(_Step(_FLOOR_DIVIDE))

    def _add_function(self, expression: sympy.Expr) -> None:
        kind, args = type(expression).__name__, expression.args
        if kind == "Pow" and args[1].is_Integer and 1 < args[1] <= 4:
            kind, args = "Mul", (args[0],) * int(args[1])
        if kind in ("Unequality", "Not"):
            for argument in args:
                self.add(argument)
            if kind != "Not":
                self.steps.append(_Step(_EQUAL))
            self.steps.append(_Step(_NOT))
            return
        op = _CHAINS.get(kind)
        if kind in _SWAPPED:
            op, args = _SWAPPED[kind], tuple(reversed(args))
        if op is None:
            raise _NotEncoded
        self.add(args[0])
        for argument in args[1:]:
            self.add(argument)
            self.steps.append(_Step(op))


def _text(relation: sympy.Expr, origins: Mapping[sympy.Symbol, _Origin]) -> str:
    """The text of a relation, with the names of sizes and integers instead of symbols."""
    text = {"Equality": "{} == {}", "Unequality": "{} != {}"}.get(type(relation).__name__, "")
    text = text.format(*relation.args) if text else str(relation)
    names = {str(s): origin.name for s, origin in origins.items() if origin.scale == 1 and origin.offset == 0}
    return re.sub(r"\b[a-z]+[0-9]+\b", lambda found: names.get(found[0], found[0]), text)
