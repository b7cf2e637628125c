"""Loads functions that the command line names as FILE.py:FUNCTION or package.module:FUNCTION."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from rushlight.runtime.errors import InvalidArgumentError


def load_function(text: str) -> tuple[str, Callable[[], Any]]:
    """Imports a function.

    Args:
        text: FILE.py:FUNCTION or package.module:FUNCTION.

    Returns:
        The name and the function.

    Raises:
        InvalidArgumentError: the text has another form, or the file or function does not exist.
        ImportError: the module cannot be imported.
    """
    where, separator, name = text.rpartition(":")
    if not separator or not name:
        raise InvalidArgumentError(f"{text!r} is not of the form FILE.py:FACTORY")
    function = getattr(_import(where), name, None)
    if not callable(function):
        raise InvalidArgumentError(f"{where} has no function {name}")
    return name, function


def load_model(text: str) -> tuple[str, Any, tuple[Any, ...]]:
    """Imports and calls a function that makes a model, or loads an exported program.

    Args:
        text: FILE.py:FUNCTION or package.module:FUNCTION, or the path of a .pt2 file.

    Returns:
        The name of the function or file, the model or exported program, and its example inputs.

    Raises:
        InvalidArgumentError: as `load_function`, or the function returns something else, or the .pt2 file is
            damaged.
    """
    if text.endswith(".pt2"):
        return _load_exported(Path(text))
    name, factory = load_function(text)
    made = factory()
    if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[1], (tuple, list)):
        raise InvalidArgumentError(f"{name}() must return the model and a tuple of its example inputs")
    return name, made[0], tuple(made[1])


def _load_exported(path: Path) -> tuple[str, Any, tuple[Any, ...]]:
    import torch

    if not path.is_file():
        raise InvalidArgumentError(f"the file {path} does not exist")
    try:
        program = torch.export.load(path)
    except Exception as error:  # torch raises errors of many kinds for what it cannot read
        first = str(error).partition("\n")[0][:200]
        raise InvalidArgumentError(
            f"{path} is no exported program: {first}; torch.export.save writes one"
        ) from error
    inputs = program.example_inputs
    return path.stem, program, () if inputs is None else (*inputs[0], *inputs[1].values())


def _import(where: str) -> ModuleType:
    if not where.endswith(".py"):
        return importlib.import_module(where)
    path = Path(where).resolve()
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InvalidArgumentError(f"the file {where} does not exist")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module
