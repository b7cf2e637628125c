"""`rushlight compile`: a model from a Python file to a .pte file."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import rushlight
from rushlight.cli.arguments import Commands, add_library_option, load_libraries, size_text
from rushlight.runtime.errors import InvalidArgumentError


def add_to(commands: Commands) -> None:
    """Declares the subcommand."""
    parser = commands.add_parser(
        "compile",
        help="compile a model (needs rushlight[compile])",
        description="FACTORY() returns the model and a tuple of its example inputs.",
    )
    parser.add_argument("factory", metavar="FILE.py:FACTORY", help="or package.module:FACTORY")
    parser.add_argument("-o", "--output", type=Path, help="the .pte file (default: FACTORY.pte)")
    add_library_option(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Compiles the model and writes the file, which appears whole or not at all."""
    load_libraries(options)
    where, separator, name = options.factory.rpartition(":")
    if not separator or not name:
        raise InvalidArgumentError(f"{options.factory!r} is not of the form FILE.py:FACTORY")
    factory = getattr(_import(where), name, None)
    if not callable(factory):
        raise InvalidArgumentError(f"{where} has no function {name}")
    model, example_inputs = _unpack(factory(), name)
    output = options.output or Path(f"{name}.pte")
    rushlight.compile(model, example_inputs).save(output)
    print(f"{output}: {size_text(output.stat().st_size)}")


def _import(where: str) -> ModuleType:
    if not where.endswith(".py"):
        return importlib.import_module(where)
    path = Path(where)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InvalidArgumentError(f"there is no file {where}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def _unpack(made: Any, name: str) -> tuple[Any, tuple[Any, ...]]:
    if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[1], (tuple, list)):
        raise InvalidArgumentError(f"{name}() must return the model and a tuple of its example inputs")
    return made[0], tuple(made[1])
