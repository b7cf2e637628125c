"""Loads functions that the command line names as FILE.py:FUNCTION or package.module:FUNCTION."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from rushlight.cli.arguments import count_text
from rushlight.runtime.errors import InvalidArgumentError


def load_function(text: str) -> tuple[str, Callable[[], Any]]:
    """Imports a function that the command line names.

    Args:
        text: FILE.py:FUNCTION or package.module:FUNCTION.

    Returns:
        The name of the function, and the function.

    Raises:
        InvalidArgumentError: the text has another form, the file, module or function does not exist, or the
            file is not Python code.
        ImportError: the module imports another module that does not exist.
    """
    where, separator, name = text.rpartition(":")
    if not separator or not name:
        raise InvalidArgumentError(f"{text!r} is not of the form FILE.py:FACTORY or package.module:FACTORY")
    function = getattr(import_python(where), name, None)
    if not callable(function):
        raise InvalidArgumentError(f"{where} has no function {name}")
    return name, function


def load_model(text: str) -> tuple[str, Any, tuple[Any, ...]]:
    """Imports and calls a function that returns a model, or loads an exported program.

    Args:
        text: FILE.py:FUNCTION or package.module:FUNCTION, or the path of a .pt2 file.

    Returns:
        The name of the function or file, the model or exported program, and its example inputs.

    Raises:
        InvalidArgumentError: as for `load_function`; or the function fails or returns other values; or the
            .pt2 file is damaged.
    """
    if text.endswith(".pt2"):
        return _load_exported(Path(text))
    name, factory = load_function(text)
    try:
        made = factory()
    except Exception as error:
        place = user_line(error)
        where = f"{place}: " if place else ""
        raise InvalidArgumentError(f"{name}() failed: {where}{type(error).__name__}: {error}") from error
    if is_exported(made):
        return name, made, _example_inputs(made)
    if not isinstance(made, tuple) or len(made) != 2 or not _are_inputs(made[1]):
        raise InvalidArgumentError(
            f"{name}() must return the model and a tuple of its example inputs, or the result of "
            f"torch.export.export (for a model with dynamic sizes), not {_kind(made)}"
        )
    model, inputs = made[0], tuple(made[1]) if isinstance(made[1], (tuple, list)) else (made[1],)
    _check_model(name, model, inputs)
    return name, model, inputs


def is_exported(model: Any) -> bool:
    """Returns whether a value is a program of torch.export."""
    import torch

    return isinstance(model, torch.export.ExportedProgram)


def _are_inputs(value: Any) -> bool:
    import torch

    return isinstance(value, (tuple, list, torch.Tensor))


def _example_inputs(program: Any) -> tuple[Any, ...]:
    """Returns the example inputs of an exported program: the positional ones, then those by keyword."""
    inputs = program.example_inputs
    return () if inputs is None else (*inputs[0], *inputs[1].values())


def _kind(made: Any) -> str:
    """Describes the result of a factory by types, such as "(Net, Tensor)"."""
    if not isinstance(made, tuple):
        return type(made).__name__
    return f"({', '.join(type(item).__name__ for item in made)})"


def _check_model(name: str, model: Any, inputs: tuple[Any, ...]) -> None:
    """Raises InvalidArgumentError unless `model` is a model whose `forward` accepts the inputs."""
    import torch

    if is_exported(model):
        return
    if not isinstance(model, torch.nn.Module):
        raise InvalidArgumentError(
            f"{name}() must return a torch.nn.Module or an exported program, not {type(model).__name__}"
        )
    try:
        inspect.signature(model.forward).bind(*inputs)
    except TypeError as error:
        count = count_text(len(inputs), "example input")
        raise InvalidArgumentError(
            f"forward of {type(model).__name__} does not accept the {count} that {name}() returns: {error}"
        ) from None


def user_line(error: BaseException) -> str | None:
    """Returns the innermost line of the user's Python code in a traceback, as "file:line: code".

    Returns None if the traceback has only lines of this package and of installed packages.
    """
    paths = sysconfig.get_paths()
    folders = [Path(paths[key]).resolve() for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders.append(Path(__file__).resolve().parents[1])
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename).resolve()
        if not frame.filename.startswith("<") and not any(folder in path.parents for folder in folders):
            return f"{frame.filename}:{frame.lineno}: {(frame.line or '').removesuffix(':')}"
    return None


def _load_exported(path: Path) -> tuple[str, Any, tuple[Any, ...]]:
    import torch

    if not path.is_file():
        raise InvalidArgumentError(f"the file {path} does not exist")
    try:
        program = torch.export.load(path)
    except Exception as error:  # torch raises errors of many types for unreadable files
        first = str(error).partition("\n")[0][:200]
        raise InvalidArgumentError(
            f"{path} is not an exported program: {first}; give a file that torch.export.save wrote"
        ) from error
    return path.stem, program, _example_inputs(program)


def import_python(where: str) -> ModuleType:
    """Imports a Python file or a module.

    Args:
        where: FILE.py or package.module.

    Raises:
        InvalidArgumentError: the file or module does not exist, or the file is not Python code.
        ImportError: the module imports another module that does not exist.
    """
    if not where.endswith(".py"):
        return _import_module(where)
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
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[path.stem]
        if isinstance(error, (SyntaxError, ValueError)) and user_line(error) is None:
            raise InvalidArgumentError(f"{where} is not Python code: {error}") from None
        raise
    return module


def _import_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise InvalidArgumentError(
            f"there is no module {name!r}; give a file as FILE.py, or a module as package.module"
        ) from None
