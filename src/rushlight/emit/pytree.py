"""Encodes the structure (pytree) of a method's inputs and outputs as the JSON text of torch's
`treespec_dumps`.

Container types of other libraries are replaced by built-in containers with the same children, so that the
program runs without these libraries. The text for the inputs also contains the names of the positional
arguments, in a field that torch ignores.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from typing import Any

from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from rushlight.ir.json_types import JsonObject

PROTOCOL = 1


def encode_treespec(spec: pytree.TreeSpec | None, names: Sequence[str] = ()) -> str:
    """Encodes a tree as text.

    Args:
        spec: the tree, or None.
        names: the names of the positional arguments, if the tree describes a method's inputs.

    Returns:
        The text. It is empty if `spec` is None.
    """
    if spec is None:
        return ""
    root = _encode(spec)
    return json.dumps([PROTOCOL, {**root, "names": list(names)} if names else root])


def argument_names(program: ExportedProgram) -> list[str]:
    """Returns the names of an exported program's positional arguments. Empty if they are not known."""
    signature = next((e.signature for e in program.module_call_graph if e.fqn == ""), None)
    if signature is None or not signature.forward_arg_names:
        return []
    children = signature.in_spec.children()
    count = children[0].num_children if len(children) == 2 else 0
    names = [str(name) for name in signature.forward_arg_names[:count]]
    return names if len(names) == count else []


def _encode(spec: pytree.TreeSpec) -> JsonObject:
    kind, context = _container(spec)
    return {"type": kind, "context": context, "children_spec": [_encode(c) for c in spec.children()]}


def _container(spec: pytree.TreeSpec) -> tuple[str | None, Any]:
    """The name of the container type, and its context, such as the keys of a dict."""
    kind, context = spec.type, spec.context
    if spec.is_leaf():
        return None, None
    if kind is tuple or kind is list:
        return f"builtins.{kind.__name__}", "null"
    if kind is dict:
        return "builtins.dict", json.dumps(context)
    if kind is OrderedDict:
        return "collections.OrderedDict", json.dumps(context)
    if kind is defaultdict:
        factory, keys = context
        return "collections.defaultdict", {
            "default_factory_module": getattr(factory, "__module__", None),
            "default_factory_name": getattr(factory, "__qualname__", None),
            "dict_context": keys,
        }
    cls = context if isinstance(context, type) else kind
    if isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return "collections.namedtuple", {"class_name": cls.__qualname__, "fields": list(cls._fields)}
    keys = _string_keys(context, spec.num_children)
    if keys is not None:
        return "builtins.dict", json.dumps(keys)
    return "builtins.tuple", "null"


def _string_keys(context: object, count: int) -> list[str] | None:
    """The field names in the context of a registered dataclass or mapping, or None."""
    candidates = [context, *(context if isinstance(context, (list, tuple)) else ())]
    for keys in candidates:
        if isinstance(keys, (list, tuple)) and len(keys) == count:
            if count and all(isinstance(key, str) for key in keys):
                return list(keys)
    return None
