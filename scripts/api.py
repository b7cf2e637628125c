"""Prints the public API: every name that a module of rushlight lists in `__all__`, with its signature.

`make api` writes it to tests/golden/api.txt; tests/test_api.py compares.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Iterator
from typing import Any

import rushlight


def modules() -> Iterator[str]:
    """Returns the names of the modules that define `__all__`."""
    yield "rushlight"
    for module in pkgutil.walk_packages(rushlight.__path__, "rushlight."):
        name = module.name
        if name.rpartition(".")[2].startswith("_"):
            continue
        if hasattr(importlib.import_module(name), "__all__"):
            yield name


def describe(name: str, value: Any) -> Iterator[str]:
    """Returns one line for a name, and one line for each public member of a class."""
    if callable(value) and typing.get_args(
        value
    ):  # an alias of a type such as list[int]; Python 3.10 treats it as a class
        yield f"{name}(...)"
        return
    if inspect.isclass(value):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        yield f"class {name}({bases})" if bases else f"class {name}"
        for member, item in sorted(vars(value).items()):
            if member.startswith("_") and member != "__init__" and member != "__call__":
                continue
            if isinstance(item, property):
                yield f"    {member}: property"
            elif callable(item) or isinstance(item, (classmethod, staticmethod)):
                yield f"    {member}{signature(getattr(value, member))}"
            else:
                yield f"    {member}"
    elif callable(value):
        yield f"{name}{signature(value)}"
    else:
        yield name


def signature(function: Any) -> str:
    """Returns the parameters as text, or an empty text if Python has no signature."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        parameter.replace(default="..." if _has_address(parameter.default) else parameter.default)
        for parameter in found.parameters.values()
    ]
    return str(found.replace(parameters=parameters)) if parameters else str(found)


def _has_address(default: Any) -> bool:
    return default is not inspect.Parameter.empty and " at 0x" in repr(default)


def text() -> str:
    """Returns the whole description, with a block for each module."""
    blocks = []
    for name in sorted(modules()):
        module = importlib.import_module(name)
        lines = [f"[{name}]"]
        for public in sorted(module.__all__):
            lines += describe(public, getattr(module, public))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    print(text(), end="")
