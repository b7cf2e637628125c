"""Another build of the native library in the place of the installed one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"


def use(path: str) -> None:
    """Takes the extension module at a path, and the package's sources of this tree around it.

    Call it before anything of rushlight is imported.

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
