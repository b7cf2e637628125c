"""Replaces the installed extension module by another build."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"


def use(path: str) -> None:
    """Uses the extension module at a path, and the Python sources of this repository.

    Call it before the first import of rushlight.

    Raises:
        FileNotFoundError: There is no extension module at the path.
    """
    name = "rushlight.runtime._native"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.insert(0, str(SOURCES))
    sys.modules[name] = module
