"""The structure (pytree) of a method's inputs and outputs, from the JSON text of torch.utils._pytree.

This module does not import torch. A container type of another library becomes a tuple, or a dict if its keys
are known.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rushlight.runtime.errors import InvalidArgumentError, InvalidProgramError

PROTOCOL = 1
"""The version of the JSON text."""


@dataclass(frozen=True)
class Tree:
    """A leaf, or a container with the trees of its children.

    Attributes:
        kind: "leaf", "sequence" or "mapping".
        build: a function that creates the container from a list of its children.
        children: the trees of the children.
        keys: the keys of a mapping, in the order of the children.
    """

    kind: str
    build: Callable[[list[object]], object]
    children: tuple[Tree, ...] = ()
    keys: tuple[Any, ...] = ()

    @property
    def is_leaf(self) -> bool:
        """Whether the tree is a leaf."""
        return self.kind == "leaf"

    def paths(self, prefix: str = "") -> list[str]:
        """Returns the path to each leaf, such as "[0]['mask']".

        Args:
            prefix: the first part of each path.
        """
        if self.is_leaf:
            return [prefix]
        labels = self.keys if self.kind == "mapping" else range(len(self.children))
        return [
            path
            for label, child in zip(labels, self.children, strict=True)
            for path in child.paths(f"{prefix}[{label!r}]")
        ]

    def flatten(self, value: Any, leaves: list[object], where: str = "the value") -> None:
        """Appends the leaves of a value to a list.

        Args:
            value: a value of this structure.
            leaves: the list.
            where: the name of the value in error messages.

        Raises:
            InvalidArgumentError: the value has another structure. The message contains the path of the
                difference.
        """
        if self.is_leaf:
            leaves.append(value)
        elif self.kind == "mapping":
            if not isinstance(value, Mapping) or set(value) != set(self.keys):
                expected = f"a dict with the keys {', '.join(map(repr, self.keys)) or '(none)'}"
                raise InvalidArgumentError(f"{where} must be {expected}, not {_describe(value)}")
            for key, child in zip(self.keys, self.children, strict=True):
                child.flatten(value[key], leaves, f"{where}[{key!r}]")
        else:
            is_sequence = isinstance(value, (Sequence, deque)) and not isinstance(value, (str, bytes))
            if not is_sequence or len(value) != len(self.children):
                raise InvalidArgumentError(
                    f"{where} must be a list or tuple of length {len(self.children)}, not {_describe(value)}"
                )
            for index, child in enumerate(self.children):
                child.flatten(value[index], leaves, f"{where}[{index}]")

    def unflatten(self, leaves: Iterator[object]) -> Any:
        """Creates a value of this structure from its leaves.

        Args:
            leaves: the leaves in order.
        """
        if self.is_leaf:
            return next(leaves)
        return self.build([child.unflatten(leaves) for child in self.children])

    def count(self) -> int:
        """Returns the number of leaves."""
        return 1 if self.is_leaf else sum(child.count() for child in self.children)


LEAF = Tree("leaf", lambda children: children[0])


def _describe(value: object) -> str:
    if isinstance(value, Mapping):
        return f"a dict with the keys {', '.join(map(repr, value)) or '(none)'}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of length {len(value)}"
    return f"a value of type {type(value).__name__}"


def parse_tree(text: str) -> Tree | None:
    """Parses the JSON text of a structure.

    Args:
        text: the text.

    Returns:
        The tree, or None for an empty text.

    Raises:
        InvalidProgramError: the text has another format.
    """
    if not text:
        return None
    try:
        protocol, node = json.loads(text)
        if protocol != PROTOCOL:
            raise ValueError(f"the protocol is {protocol}, not {PROTOCOL}")
        return _parse(node)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InvalidProgramError(f"the program's pytree is damaged: {error}") from error


def parse_names(text: str) -> tuple[str, ...]:
    """Returns the names of a method's positional arguments. The tuple is empty if the text has no names.

    Args:
        text: the JSON text of the inputs, which `parse_tree` accepts.

    Raises:
        InvalidProgramError: a name is not a text, or two names are equal.
    """
    names = json.loads(text)[1].get("names", []) if text else []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidProgramError("the program's pytree is damaged: a name of an argument is not a text")
    if len(set(names)) != len(names):
        raise InvalidProgramError("the program's pytree is damaged: two arguments have the same name")
    return tuple(names)


def _parse(node: dict[str, Any]) -> Tree:
    kind, context = node["type"], node["context"]
    if kind is None:
        return LEAF
    children = tuple(_parse(child) for child in node["children_spec"])
    if isinstance(context, str):
        context = _json_or_text(context)
    if kind == "builtins.list":
        return Tree("sequence", list, children)
    if kind == "collections.deque":
        return Tree("sequence", deque, children)
    if kind == "collections.namedtuple" and isinstance(context, dict):
        cls = namedtuple(str(context["class_name"]).rpartition(".")[2], context["fields"])  # type: ignore[misc]
        return Tree("sequence", lambda items: cls(*items), children)
    if kind == "collections.defaultdict":
        keys = _keys(context["dict_context"], children)
        factory = {"list": list, "dict": dict, "int": int, "float": float, "set": set}.get(
            context["default_factory_name"]
        )
        return Tree(
            "mapping", lambda items: defaultdict(factory, zip(keys, items, strict=True)), children, keys
        )
    if kind == "collections.OrderedDict":
        keys = _keys(context, children)
        return Tree("mapping", lambda items: OrderedDict(zip(keys, items, strict=True)), children, keys)
    if kind == "builtins.dict" or (_is_keys(context, children) and children):
        keys = _keys(context, children)
        return Tree("mapping", lambda items: dict(zip(keys, items, strict=True)), children, keys)
    return Tree("sequence", tuple, children)


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _is_keys(context: object, children: Sequence[Tree]) -> bool:
    return isinstance(context, list) and len(context) == len(children)


def _keys(context: Any, children: Sequence[Tree]) -> tuple[object, ...]:
    if not _is_keys(context, children):
        raise ValueError(f"a container has {len(children)} children, but the keys {context!r}")
    keys = tuple(context)
    if len(set(keys)) != len(keys):
        raise ValueError(f"the keys {context!r} are not distinct")
    return keys
